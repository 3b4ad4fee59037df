package import BellhopRules
import HTTPServer

extension ProviderSandbox {
    /// Subscribes a browser, and gives its `PushSubscription` as JSON; its private key stays here.
    ///
    /// With an `applicationServerKey` (base64url), only messages that are signed with it are taken.
    package func makeWebPushSubscription(
        applicationServerKey: String? = nil
    ) throws(SandboxError) -> JSONObject {
        browsers.json(of: try browsers.make(applicationServerKey: applicationServerKey))
    }

    /// Ends a subscription, as a browser does at `unsubscribe()`; false where there is none at this endpoint.
    @discardableResult
    package func endWebPushSubscription(endpoint: String) -> Bool {
        guard endpoint.hasPrefix(browsers.base) else { return false }
        return browsers.end(String(endpoint.dropFirst(browsers.base.count)))
    }
}

/// The control interface's side of subscriptions: `POST /subscriptions`, `DELETE /subscriptions/{id}`.
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

    /// The body may be empty, or `{"applicationServerKey": "…"}`.
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
