import HTTPServer
import ServiceRuntime

/// Allows pages of other origins to call the API, by an exact list.
///
/// Cookies are not allowed, and the API has none.
struct CrossOrigin: Sendable {
    private let origins: Set<String>
    private let methods: String

    init(_ origins: [WebOrigin], methods: Set<String>) {
        self.origins = Set(origins.map(\.text))
        self.methods = methods.sorted().joined(separator: ", ")
    }

    /// Returns the answer to a browser's preflight request, or `nil` for any other request.
    func preflight(_ request: HTTPRequest) -> HTTPResponse? {
        guard request.method == "OPTIONS", request.headers["Access-Control-Request-Method"] != nil,
            allowed(request) != nil
        else { return nil }
        return HTTPResponse(
            status: 204,
            headers: [
                "Access-Control-Allow-Methods": methods,
                "Access-Control-Allow-Headers": "Authorization, Content-Type, If-None-Match, Last-Event-ID",
                "Access-Control-Max-Age": "600",
            ]
        )
    }

    /// Lets a page of an allowed origin read the answer.
    func mark(_ response: inout HTTPResponse, for request: HTTPRequest) {
        guard !origins.isEmpty else { return }
        response.headers.add("Vary", "Origin")
        guard let origin = allowed(request) else { return }
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = "Date, ETag, Retry-After"
    }

    private func allowed(_ request: HTTPRequest) -> String? {
        request.headers["Origin"].flatMap { origins.contains($0) ? $0 : nil }
    }
}
