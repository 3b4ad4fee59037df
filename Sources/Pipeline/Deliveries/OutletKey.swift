import BellhopRules
import Store

/// Identifies one app at one of its providers.
struct OutletKey: Hashable, Sendable {
    let app: AppID
    /// The provider's name in metrics and in the ledger.
    let provider: String

    init(app: AppID, provider: PushProvider) {
        self.app = app
        self.provider = provider.rawValue
    }

    /// Returns the key of the app's mail relay.
    static func email(of app: AppID) -> OutletKey { OutletKey(app: app, provider: "email") }

    /// Whether a single platform's devices can be blocked separately.
    var hasPlatforms: Bool { self != .email(of: app) }

    /// Creates the key of the whole outlet to which a part belongs.
    init(_ part: OutletScope) {
        self.init(app: part.app, provider: part.provider)
    }

    private init(app: AppID, provider: String) {
        self.app = app
        self.provider = provider
    }
}

extension OutletScope {
    /// Creates a part: the whole outlet, or one platform of it.
    init(_ outlet: OutletKey, platform: DevicePlatform? = nil) {
        self.init(app: outlet.app, provider: outlet.provider, platform: platform)
    }

    /// Creates the part for events of one type.
    init(_ outlet: OutletKey, type: EventType) {
        self.init(app: outlet.app, provider: outlet.provider, type: type)
    }

    func isOf(_ outlet: OutletKey) -> Bool {
        app == outlet.app && provider == outlet.provider
    }
}
