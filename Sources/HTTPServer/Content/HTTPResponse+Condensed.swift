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

/// The content encodings that a client accepts, and the content that it already has.
extension HTTPRequest {
    /// Whether the client accepts gzip: it names gzip, and not with a weight of zero.
    var takesGzip: Bool {
        elements(of: "Accept-Encoding").contains { element in
            let parts = element.lowercased().filter { $0 != " " }.split(separator: ";")
            return parts.first == "gzip"
                && !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }

    /// Whether the client already has the bytes of this tag; RFC 9110 requires a weak comparison here.
    func has(_ tag: EntityTag) -> Bool {
        elements(of: "If-None-Match").contains { $0 == "*" || EntityTag.opaque($0) == EntityTag.opaque(tag.text[...]) }
    }

    private func elements(of name: String) -> [Substring] {
        headers.values(of: name).flatMap { value in
            value.split(separator: ",").map { element in
                let start = element.drop { $0 == " " }
                return start[..<(start.lastIndex { $0 != " " }.map(start.index(after:)) ?? start.startIndex)]
            }
        }
    }
}
