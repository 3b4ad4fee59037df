import Compression
import Cryptography

/// A file for browsers, prepared once: its bytes, their compressed form, and the tag for change detection.
package struct StaticAsset: Sendable {
    package let path: String
    private let headers: [(name: String, value: String)]
    private let plain: [UInt8]
    private let short: [UInt8]?
    private let tag: EntityTag

    package init(_ path: String, type: String, _ bytes: [UInt8], headers: [(name: String, value: String)] = []) {
        self.path = path
        // Browsers revalidate each time and usually receive a 304, so that a page is never older than its script.
        self.headers = [("Content-Type", type), ("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding")] + headers
        plain = bytes
        short = Gzip.compressed(bytes, effort: .high).flatMap { $0.count < bytes.count ? $0 : nil }
        tag = EntityTag(of: bytes)
    }

    /// Answers a `GET`; the body is empty if the browser already has these bytes.
    package func answer(to request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse()
        for header in headers { response.headers[header.name] = header.value }
        response.headers["ETag"] = tag.text
        guard !request.has(tag) else {
            response.status = 304
            response.headers["Content-Type"] = nil
            return response
        }
        if let short, request.takesGzip {
            response.headers["Content-Encoding"] = "gzip"
            response.body = .bytes(short)
        } else {
            response.body = .bytes(plain)
        }
        return response
    }
}

/// The tag by which a client asks whether an answer has changed.
///
/// The tag is weak, because the same answer may be compressed or not.
struct EntityTag: Sendable {
    let text: String

    init(of bytes: [UInt8]) {
        text = "W/\"\(Base64URL.encode(Array(SHA256.digest(of: bytes).bytes.prefix(15))))\""
    }

    /// Returns the part of a tag that is compared.
    static func opaque(_ text: Substring) -> Substring {
        text.hasPrefix("W/") ? text.dropFirst(2) : text
    }
}
