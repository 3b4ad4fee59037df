import HTTPServer
import ServiceRuntime

/// Which pages of other origins may call the API: those of an exact list, and without cookies, of which there are none.
struct CrossOrigin: Sendable {
    private let origins: Set<String>
    private let methods: String

    init(_ origins: [WebOrigin], methods: Set<String>) {
        self.origins = Set(origins.map(\.text))
        self.methods = methods.sorted().joined(separator: ", ")
    }

    /// The answer to a browser that asks before it calls; nil for any other request.
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

    /// Lets the page of an allowed origin read the answer.
    func mark(_ response: inout HTTPResponse, for request: HTTPRequest) {
        guard !origins.isEmpty else { return }
        response.headers.add("Vary", "Origin")
        guard let origin = allowed(request) else { return }
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = "ETag, Retry-After"
    }

    private func allowed(_ request: HTTPRequest) -> String? {
        request.headers["Origin"].flatMap { origins.contains($0) ? $0 : nil }
    }
}
