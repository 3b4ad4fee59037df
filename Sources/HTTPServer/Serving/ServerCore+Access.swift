/// The steps of an exchange on libmicrohttpd's thread.
extension ServerCore {
    /// The next step of libmicrohttpd for the connection.
    enum Step {
        case goOn
        case close
    }

    /// Handles one call of the access handler: headers, a part of the body, the end of the request, or an answer to be
    /// sent.
    func access(
        _ exchange: ServerExchange,
        method: String,
        upload: UnsafeRawBufferPointer,
        on connection: ClientConnection
    ) -> Step {
        switch exchange.phase.withLock({ $0 }) {
        case .begun(let uri):
            return readHead(exchange, method: method, uri: uri, on: connection)
        case .receiving(let head, _):
            guard upload.isEmpty else { return receive(exchange, upload) }
            return start(exchange, head, on: connection)
        case .overflowing(let refusal, let discarded):
            return overflow(exchange, refusal, discarded: discarded, upload, on: connection)
        case .answered(let response):
            return send(method == "HEAD" ? response.withoutStream : response, for: exchange, on: connection)
        case .running, .queued:
            return .goOn
        }
    }

    private func readHead(_ exchange: ServerExchange, method: String, uri: String, on connection: ClientConnection)
        -> Step
    {
        let (headers, peer) = (connection.headers(), connection.peer())
        switch HTTPRequestHead.read(method: method, uri: uri, headers: headers, peer: peer, limits: limits) {
        case .success(var head):
            if let refusal = refusal(of: &head) {
                return send(refusal, for: exchange, on: connection)
            }
            exchange.phase.withLock { [head] in $0 = .receiving(head, body: []) }
            return .goOn
        case .failure(let refusal):
            // A request that is answered before its body is read ends the connection.
            return send(refusal.response, for: exchange, on: connection)
        }
    }

    /// Calls the admission before a body is received; returns the answer if the admission rejects the request.
    private func refusal(of head: inout HTTPRequestHead) -> HTTPResponse? {
        guard let admission, head.announcesBody else { return nil }
        switch admission(request(head, body: [])) {
        case .receive(let bytes, let budget):
            head.isAdmitted = true
            head.budget = budget
            head.mostBytes = min(bytes, limits.bodyBytes)
            return head.isTooLarge ? HTTPRequestHead.Refusal.tooLarge(head.mostBytes).response : nil
        case .refuse(var response):
            response.headers["Connection"] = "close"
            return response
        }
    }

    private func request(_ head: HTTPRequestHead, body: [UInt8]) -> HTTPRequest {
        var request = HTTPRequest(
            method: head.method,
            target: head.target,
            headers: head.headers,
            body: body,
            peer: head.peer
        )
        request.isAdmitted = head.isAdmitted
        request.note = head.note
        return request
    }

    private func receive(_ exchange: ServerExchange, _ upload: UnsafeRawBufferPointer) -> Step {
        exchange.phase.withLock { phase in
            guard case .receiving(let head, var body) = phase else { return }
            // Releases the phase's reference, so that the body grows in place.
            phase = .running
            let isTooLarge = body.count + upload.count > head.mostBytes
            guard !isTooLarge, holdBody(upload.count, of: exchange, within: head.budget) else {
                releaseBody(of: exchange)
                phase = .overflowing(isTooLarge ? .tooLarge(head.mostBytes) : .busy, discarded: upload.count)
                return
            }
            body.append(contentsOf: upload)
            phase = .receiving(head, body: body)
        }
        return .goOn
    }

    /// Discards a rejected body while it is received: up to 1 MiB of it is read before the answer, and a longer body is
    /// cut off.
    private func overflow(
        _ exchange: ServerExchange,
        _ refusal: HTTPRequestHead.Refusal,
        discarded: Int,
        _ upload: UnsafeRawBufferPointer,
        on connection: ClientConnection
    ) -> Step {
        guard !upload.isEmpty else {
            return send(refusal.response, for: exchange, on: connection)
        }
        let (total, overflow) = discarded.addingReportingOverflow(upload.count)
        guard !overflow, total <= max(1 << 20, limits.bodyBytes) else { return .close }
        exchange.phase.withLock { $0 = .overflowing(refusal, discarded: total) }
        return .goOn
    }

    private func start(_ exchange: ServerExchange, _ head: HTTPRequestHead, on connection: ClientConnection) -> Step {
        let body = exchange.phase.withLock { phase -> [UInt8] in
            guard case .receiving(_, let body) = phase else { return [] }
            phase = .running
            return body
        }
        connections.received(connection.identity)
        begin(exchange, request(head, body: body), on: connection)
        return .goOn
    }

    private func send(_ response: HTTPResponse, for exchange: ServerExchange, on connection: ClientConnection) -> Step {
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
    /// The answer to a `HEAD`, without the stream.
    ///
    /// With it, libmicrohttpd 0.9.75 would end a stream that it does not send, and so corrupt the next answer.
    fileprivate var withoutStream: HTTPResponse {
        guard case .stream(let pieces) = body else { return self }
        pieces.abandon()
        return HTTPResponse(status: status, headers: headers)
    }
}
