import Compression

extension HTTPResponse {
    /// Returns the response with a tag that a client may send in `If-None-Match`, or a 304 if the client already has
    /// it.
    package func tagged(for request: HTTPRequest) -> HTTPResponse {
        guard status == 200, case .bytes(let bytes) = body else { return self }
        let tag = EntityTag(of: bytes)
        var response = request.has(tag) ? HTTPResponse(status: 304) : self
        response.headers["ETag"] = tag.text
        return response
    }

    /// Compresses large JSON for a client that accepts it.
    package mutating func condense(for request: HTTPRequest) {
        guard case .bytes(let bytes) = body, headers["Content-Type"] == "application/json" else { return }
        guard bytes.count >= Self.worthwhile else { return }
        headers.add("Vary", "Accept-Encoding")
        guard request.takesGzip, let packed = Gzip.compressed(bytes) else { return }
        headers["Content-Encoding"] = "gzip"
        body = .bytes(packed)
    }

    /// The number of bytes from which compression saves packets.
    private static let worthwhile = 1_400
}
