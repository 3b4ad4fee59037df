import BellhopRules
import Cryptography
import HTTPServer
import Synchronization

/// The subscriptions of this process: active ones, and the names of ended ones.
final class BrowserSubscriptions: Sendable {
    /// The state of a subscription's name.
    enum SubscriptionStatus: Sendable {
        case living(BrowserSubscription)
        case ended
        case unknown
    }

    private struct State {
        var living: [String: BrowserSubscription] = [:]
        var ended: Set<String> = []
    }

    /// `https://host:port/wp/`, as used by senders.
    let base: String
    private let state = Mutex(State())

    /// The beginning of the paths of all endpoints.
    static let path = "/wp/"

    /// Creates the list; `origin` must have a host name, because endpoints with numeric addresses are rejected.
    init(origin: String) { base = origin + Self.path }

    func make(applicationServerKey: String? = nil) throws(SandboxError) -> BrowserSubscription {
        let subscription = try BrowserSubscription(applicationServerKey: applicationServerKey)
        state.withLock { $0.living[subscription.id] = subscription }
        return subscription
    }

    /// Ends a subscription, as the browser does at `unsubscribe()`; returns false if there is no such subscription.
    func end(_ id: String) -> Bool {
        state.withLock { state in
            guard state.living.removeValue(forKey: id) != nil else { return false }
            state.ended.insert(id)
            return true
        }
    }

    func standing(of id: String) -> SubscriptionStatus {
        state.withLock { state in
            if let subscription = state.living[id] { return .living(subscription) }
            return state.ended.contains(id) ? .ended : .unknown
        }
    }

    /// Returns a browser's `PushSubscription` as the browser serializes it.
    func json(of subscription: BrowserSubscription) -> JSONObject {
        [
            "endpoint": .string(base + subscription.id), "expirationTime": .null,
            "keys": [
                "p256dh": .string(Base64URL.encode(subscription.publicKey)),
                "auth": .string(Base64URL.encode(subscription.secret)),
            ],
        ]
    }
}

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
