import BellhopRules
import HTTPServer

/// The control interface of subscriptions: `POST /subscriptions`, `DELETE /subscriptions/{id}`.
struct BrowserControl: Sendable {
    let browsers: BrowserSubscriptions

    func addRoutes(to router: inout Router) {
        router.add("POST", "/subscriptions", handler: { subscribe($0) })
        router.add("DELETE", "/subscriptions/{id}") { request in
            browsers.end(request.parameters["id"] ?? "")
                ? HTTPResponse(status: 204)
                : .failure(404, code: "not-found", message: "there is no such subscription")
        }
    }

    /// Subscribes a browser; the body may be empty, or `{"applicationServerKey": "…"}`.
    private func subscribe(_ request: HTTPRequest) -> HTTPResponse {
        var key: String?
        if !request.body.isEmpty {
            guard case .success(let value) = JSONParser().parse(request.body), let object = value.object,
                object.members.allSatisfy({ $0.key == "applicationServerKey" && $0.value.string != nil })
            else {
                let message = "expected nothing, or {\"applicationServerKey\": \"...\"}"
                return .failure(400, code: "invalid-subscription", message: message)
            }
            key = object["applicationServerKey"]?.string
        }
        do {
            let subscription = try browsers.make(applicationServerKey: key)
            let json = JSONWriter.canonicalBytes(of: .object(browsers.json(of: subscription)))
            return .json(json, status: 201)
        } catch {
            return .failure(500, code: "cryptography", message: error.description)
        }
    }
}
