import Compression

/// A file that browsers are served, made ready once: its bytes, their short form, and the tag by which a browser asks
/// whether it has changed.
package struct PageAsset: Sendable {
    package let path: String
    private let headers: [(name: String, value: String)]
    private let plain: [UInt8]
    private let short: [UInt8]?
    private let tag: EntityTag

    package init(_ path: String, type: String, _ bytes: [UInt8], headers: [(name: String, value: String)] = []) {
        self.path = path
        // Asked about each time, and mostly answered with 304: a page is never older than its script.
        self.headers = [("Content-Type", type), ("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding")] + headers
        plain = bytes
        short = Gzip.compressed(bytes).flatMap { $0.count < bytes.count ? $0 : nil }
        tag = EntityTag(of: bytes)
    }

    /// Answers a `GET`: nothing where the browser has these bytes already.
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
