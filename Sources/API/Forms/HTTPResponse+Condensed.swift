import Compression
import Cryptography
package import HTTPServer

extension HTTPResponse {
    /// Marks it as one that a client may keep and ask about with `If-None-Match`; a 304 where the client has it already.
    func tagged(for request: HTTPRequest) -> HTTPResponse {
        guard status == 200, case .bytes(let bytes) = body else { return self }
        // Weak: the same answer may be compressed or not.
        let tag = "W/\"\(Base64URL.encode(SHA256.digest(of: bytes).prefix(12)))\""
        let known = (request.headers["If-None-Match"] ?? "").split(separator: ",").map { $0.drop { $0 == " " } }
        var response = known.contains { $0 == tag || $0 == "*" } ? HTTPResponse(status: 304) : self
        response.headers["ETag"] = tag
        return response
    }

    /// Compresses JSON of some size for a client that takes it.
    package mutating func condense(for request: HTTPRequest) {
        guard case .bytes(let bytes) = body, headers["Content-Type"] == "application/json" else { return }
        guard bytes.count >= Self.worthwhile else { return }
        headers.add("Vary", "Accept-Encoding")
        guard Self.takesGzip(request), let packed = Gzip.compressed(bytes) else { return }
        headers["Content-Encoding"] = "gzip"
        body = .bytes(packed)
    }

    /// Bytes from which on fewer packets go out.
    private static let worthwhile = 1_400

    private static func takesGzip(_ request: HTTPRequest) -> Bool {
        let codings = (request.headers["Accept-Encoding"] ?? "").lowercased().filter { $0 != " " }.split(separator: ",")
        return codings.contains { coding in
            let parts = coding.split(separator: ";")
            return parts.first == "gzip" && !parts.dropFirst().contains { $0 == "q=0" || $0.hasPrefix("q=0.0") }
        }
    }
}
