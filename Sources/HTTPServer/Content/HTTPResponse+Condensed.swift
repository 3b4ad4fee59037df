import Compression

extension HTTPResponse {
    /// Marks it as one that a client may keep and ask about with `If-None-Match`; a 304 where the client has it already.
    package func tagged(for request: HTTPRequest) -> HTTPResponse {
        guard status == 200, case .bytes(let bytes) = body else { return self }
        let tag = EntityTag(of: bytes)
        var response = request.has(tag) ? HTTPResponse(status: 304) : self
        response.headers["ETag"] = tag.text
        return response
    }

    /// Compresses JSON of some size for a client that takes it.
    package mutating func condense(for request: HTTPRequest) {
        guard case .bytes(let bytes) = body, headers["Content-Type"] == "application/json" else { return }
        guard bytes.count >= Self.worthwhile else { return }
        headers.add("Vary", "Accept-Encoding")
        guard request.takesGzip, let packed = Gzip.compressed(bytes) else { return }
        headers["Content-Encoding"] = "gzip"
        body = .bytes(packed)
    }

    /// Bytes from which on fewer packets go out.
    private static let worthwhile = 1_400
}
