package import BellhopRules

/// An app at one of its providers, or only its devices of one platform or its events of one type there: what a breaker
/// keeps from sending, and what deliveries wait for.
package struct OutletPart: Hashable, Sendable {
    package let app: AppID
    /// The provider as metrics name it.
    package let provider: String
    /// Nil where all devices are concerned.
    package let platform: DevicePlatform?
    /// What waits for a hold on this type alone, on all platforms; nil for everything else.
    package let type: EventType?

    package init(app: AppID, provider: String, platform: DevicePlatform? = nil) {
        self.app = app
        self.provider = provider
        self.platform = platform
        type = nil
    }

    package init(app: AppID, provider: String, type: EventType) {
        self.app = app
        self.provider = provider
        platform = nil
        self.type = type
    }

    /// Whether it is the outlet itself.
    package var isWhole: Bool { platform == nil && type == nil }

    /// As the ledger has it, such as `drop/fcm`, `drop/fcm/ios` or `drop/fcm//system`.
    package var text: String {
        let outlet = "\(app.text)/\(provider)"
        if let type { return "\(outlet)//\(type.text)" }
        return platform.map { "\(outlet)/\($0.rawValue)" } ?? outlet
    }

    /// From the ledger's word; nil for one that no program of ours wrote.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard (2...4).contains(parts.count), let app = AppID(validating: parts[0]) else { return nil }
        guard parts.count > 2 else {
            self.init(app: app, provider: parts[1])
            return
        }
        if parts.count == 4 {
            guard parts[2].isEmpty, let type = EventType(validating: parts[3]) else { return nil }
            self.init(app: app, provider: parts[1], type: type)
            return
        }
        guard let platform = DevicePlatform(rawValue: parts[2]) else { return nil }
        self.init(app: app, provider: parts[1], platform: platform)
    }
}
