import BellhopRules
import Cryptography
import Synchronization

/// The subscriptions that were made here: living ones, and the names of those that ended.
final class BrowserSubscriptions: Sendable {
    /// What a name turns out to be.
    enum Standing: Sendable {
        case living(BrowserSubscription)
        case ended
        case unknown
    }

    private struct State {
        var living: [String: BrowserSubscription] = [:]
        var ended: Set<String> = []
    }

    /// `https://host:port/wp/`, as senders reach it.
    let base: String
    private let state = Mutex(State())

    /// The beginning of the paths of all endpoints.
    static let path = "/wp/"

    /// `origin` must have a name for its host, since endpoints with addresses in numbers are refused.
    init(origin: String) {
        base = origin + Self.path
    }

    func make(applicationServerKey: String? = nil) throws(SandboxError) -> BrowserSubscription {
        let subscription = try BrowserSubscription(applicationServerKey: applicationServerKey)
        state.withLock { $0.living[subscription.id] = subscription }
        return subscription
    }

    /// As the browser does at `unsubscribe()`; false where there is no such subscription.
    func end(_ id: String) -> Bool {
        state.withLock { state in
            guard state.living.removeValue(forKey: id) != nil else { return false }
            state.ended.insert(id)
            return true
        }
    }

    func standing(of id: String) -> Standing {
        state.withLock { state in
            if let subscription = state.living[id] { return .living(subscription) }
            return state.ended.contains(id) ? .ended : .unknown
        }
    }

    /// A browser's `PushSubscription` as it serializes itself.
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
