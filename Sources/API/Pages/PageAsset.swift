import Compression
import Cryptography
package import HTTPServer

/// A file that browsers are served, made ready once: its bytes, their short form, and the tag by which a browser asks
/// whether it has changed.
package struct PageAsset: Sendable {
    package let path: String
    private let headers: [(name: String, value: String)]
    private let plain: [UInt8]
    private let short: [UInt8]?
    private let tag: String

    package init(_ path: String, type: String, _ bytes: [UInt8], headers: [(name: String, value: String)] = []) {
        self.path = path
        // Asked about each time, and mostly answered with 304: a page is never older than its script.
        self.headers = [("Content-Type", type), ("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding")] + headers
        plain = bytes
        short = Gzip.compressed(bytes).flatMap { $0.count < bytes.count ? $0 : nil }
        tag = "W/\"\(Base64URL.encode(Array(SHA256.digest(of: bytes).bytes.prefix(15))))\""
    }

    /// Answers a `GET`: nothing where the browser has these bytes already.
    package func answer(to request: HTTPRequest) -> HTTPResponse {
        var response = HTTPResponse()
        for header in headers { response.headers[header.name] = header.value }
        response.headers["ETag"] = tag
        guard !isKnown(to: request) else {
            response.status = 304
            response.headers["Content-Type"] = nil
            return response
        }
        if let short, Self.takesGzip(request) {
            response.headers["Content-Encoding"] = "gzip"
            response.body = .bytes(short)
        } else {
            response.body = .bytes(plain)
        }
        return response
    }

    private func isKnown(to request: HTTPRequest) -> Bool {
        let known = request.headers["If-None-Match"].map(Self.elements) ?? []
        return known.contains(tag) || known.contains("*") || known.contains(String(tag.dropFirst(2)))
    }

    private static func takesGzip(_ request: HTTPRequest) -> Bool {
        elements(request.headers["Accept-Encoding"] ?? "").contains { element in
            let parts = element.lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first == "gzip"
                && !parts.dropFirst().contains { $0.hasPrefix("q=0") && Double($0.dropFirst(2)) == 0 }
        }
    }

    private static func elements(_ field: String) -> [String] {
        field.split(separator: ",").map { element in
            String(element.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }
}
