/// The steps of an exchange as libmicrohttpd's thread takes them.
extension ServerCore {
    /// What libmicrohttpd should do next with the connection.
    enum Step {
        case goOn
        case close
    }

    /// One call of the access handler: headers, a part of the body, the end of the request, or an answer to be sent.
    func access(
        _ exchange: Exchange,
        method: String,
        upload: UnsafeRawBufferPointer,
        on connection: Connection
    ) -> Step {
        switch exchange.phase.withLock({ $0 }) {
        case .begun(let uri):
            return readHead(exchange, method: method, uri: uri, on: connection)
        case .receiving(let head, _):
            guard upload.isEmpty else { return receive(exchange, upload) }
            return start(exchange, head, on: connection)
        case .overflowing(let discarded):
            return overflow(exchange, discarded: discarded, upload, on: connection)
        case .answered(let response):
            return send(method == "HEAD" ? response.withoutStream : response, for: exchange, on: connection)
        case .running, .queued:
            return .goOn
        }
    }

    private func readHead(_ exchange: Exchange, method: String, uri: String, on connection: Connection) -> Step {
        switch HTTPRequestHead.read(method: method, uri: uri, headers: connection.headers(), limits: limits) {
        case .success(let head):
            exchange.phase.withLock { $0 = .receiving(head, body: []) }
            return .goOn
        case .failure(let refusal):
            // Answered before its body is read, the request ends the connection.
            return send(refusal.response, for: exchange, on: connection)
        }
    }

    private func receive(_ exchange: Exchange, _ upload: UnsafeRawBufferPointer) -> Step {
        exchange.phase.withLock { phase in
            guard case .receiving(let head, var body) = phase else { return }
            // Lets go of the phase's own reference, so that the body grows in place.
            phase = .running
            guard body.count + upload.count <= limits.bodyBytes else {
                phase = .overflowing(discarded: upload.count)
                return
            }
            body.append(contentsOf: upload)
            phase = .receiving(head, body: body)
        }
        return .goOn
    }

    /// A body of unannounced length has grown too large; a polite client is heard out, an endless one is cut off.
    private func overflow(
        _ exchange: Exchange,
        discarded: Int,
        _ upload: UnsafeRawBufferPointer,
        on connection: Connection
    ) -> Step {
        guard !upload.isEmpty else {
            return send(HTTPRequestHead.Refusal.tooLarge(limits).response, for: exchange, on: connection)
        }
        let (total, overflow) = discarded.addingReportingOverflow(upload.count)
        guard !overflow, total <= max(1 << 20, limits.bodyBytes) else { return .close }
        exchange.phase.withLock { $0 = .overflowing(discarded: total) }
        return .goOn
    }

    private func start(_ exchange: Exchange, _ head: HTTPRequestHead, on connection: Connection) -> Step {
        let body = exchange.phase.withLock { phase -> [UInt8] in
            guard case .receiving(_, let body) = phase else { return [] }
            phase = .running
            return body
        }
        connections.received(connection.identity)
        let request = HTTPRequest(
            method: head.method,
            target: head.target,
            headers: head.headers,
            body: body,
            peer: connection.peer()
        )
        begin(exchange, request, on: connection)
        return .goOn
    }

    private func send(_ response: HTTPResponse, for exchange: Exchange, on connection: Connection) -> Step {
        exchange.phase.withLock { $0 = .queued }
        let isStream = if case .stream = response.body { true } else { false }
        connections.sending(connection.identity, isStream: isStream)
        let stream = makeStream(of: response, for: exchange, on: connection)
        if connection.queue(response, stream: stream) { return .goOn }
        let failure = HTTPResponse.failure(500, code: "internal", message: "the answer could not be sent")
        return connection.queue(failure, stream: nil) ? .goOn : .close
    }
}

extension HTTPResponse {
    /// The answer to a `HEAD`: libmicrohttpd 0.9.75 would end a stream that it does not send, and so break the next answer.
    fileprivate var withoutStream: HTTPResponse {
        guard case .stream(let pieces) = body else { return self }
        pieces.abandon()
        return HTTPResponse(status: status, headers: headers)
    }
}
