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

    /// Whether something may hold up the devices of one platform alone.
    var hasPlatforms: Bool { self != .email(of: app) }

    /// The outlet that it is a part of, or all of it.
    init(_ part: OutletPart) {
        self.init(app: part.app, provider: part.provider)
    }

    private init(app: AppID, provider: String) {
        self.app = app
        self.provider = provider
    }
}

extension OutletPart {
    /// A whole outlet, or one platform there.
    init(_ outlet: OutletKey, platform: DevicePlatform? = nil) {
        self.init(app: outlet.app, provider: outlet.provider, platform: platform)
    }

    /// The events of one type there.
    init(_ outlet: OutletKey, type: EventType) {
        self.init(app: outlet.app, provider: outlet.provider, type: type)
    }

    func isOf(_ outlet: OutletKey) -> Bool {
        app == outlet.app && provider == outlet.provider
    }
}
