import ServiceRuntime

/// A handler's answer.
package struct HTTPResponse: Sendable {
    /// The content of a response.
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Pieces that are sent as they are produced, until the stream ends; the length is not known in advance.
        ///
        /// The stream is cancelled when the client has gone or the server stops. A client's disconnection is detected
        /// only at the next piece, so a stream that may be silent for long should send something occasionally.
        case stream(AsyncStream<[UInt8]>)
    }

    package var status: Int
    package var headers: HTTPHeaders
    package var body: Body

    package init(status: Int = 200, headers: HTTPHeaders = [:], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: .bytes(Array(text.utf8))
        )
    }

    /// Returns a response with JSON that is already encoded.
    package static func json(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "application/json"], body: .bytes(bytes))
    }

    /// Returns an error in its general form: `{"error":{"code","message","field"?,"index"?}}`.
    package static func failure(
        _ status: Int,
        code: String,
        message: String,
        field: String? = nil,
        index: Int? = nil
    ) -> HTTPResponse {
        let place =
            (field.map { ",\"field\":\($0.asJSONString)" } ?? "") + (index.map { ",\"index\":\($0)" } ?? "")
        let json = "{\"error\":{\"code\":\(code.asJSONString),\"message\":\(message.asJSONString)\(place)}}\n"
        return .json(Array(json.utf8), status: status)
    }

    /// Returns a response of server-sent events.
    package static func events(_ stream: AsyncStream<[UInt8]>) -> HTTPResponse {
        HTTPResponse(
            headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
            body: .stream(stream)
        )
    }
}
