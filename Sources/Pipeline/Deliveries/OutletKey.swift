import BellhopRules
import Store

/// One way out of the house: an app at one of its providers.
struct OutletKey: Hashable, Sendable {
    let app: AppID
    /// The provider as metrics and the ledger name it.
    let provider: String

    init(app: AppID, provider: PushProvider) {
        self.app = app
        self.provider = provider.rawValue
    }

    /// The app's mail relay.
    static func email(of app: AppID) -> OutletKey { OutletKey(app: app, provider: "email") }

    /// The outlet that a breaker is of.
    init(_ breaker: BreakerKey) {
        self.init(app: breaker.app, provider: breaker.provider)
    }

    /// Whether something may hold up the devices of one platform alone.
    var hasPlatforms: Bool { self != .email(of: app) }

    /// The outlet of a backlog.
    init(_ backlog: BacklogKey) {
        self.init(app: backlog.app, provider: backlog.provider)
    }

    private init(app: AppID, provider: String) {
        self.app = app
        self.provider = provider
    }
}

extension BacklogKey {
    /// What waits for a whole outlet, or for one platform there.
    init(_ outlet: OutletKey, platform: DevicePlatform? = nil) {
        self.init(app: outlet.app, provider: outlet.provider, platform: platform)
    }

    /// What waits for a breaker to close.
    init(_ breaker: BreakerKey) {
        self.init(app: breaker.app, provider: breaker.provider, platform: breaker.platform)
    }
}

extension BreakerKey {
    /// The breaker of a whole outlet, or of one platform there.
    init(_ outlet: OutletKey, platform: DevicePlatform? = nil) {
        self.init(app: outlet.app, provider: outlet.provider, platform: platform)
    }

    func isOf(_ outlet: OutletKey) -> Bool {
        app == outlet.app && provider == outlet.provider
    }
}
