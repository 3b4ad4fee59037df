package import BellhopRules

/// An app at one of its providers, or only its devices of one platform there: what a breaker keeps from sending, and what
/// deliveries wait for.
package struct OutletPart: Hashable, Sendable {
    package let app: AppID
    /// The provider as metrics name it.
    package let provider: String
    /// Nil where all devices are concerned.
    package let platform: DevicePlatform?

    package init(app: AppID, provider: String, platform: DevicePlatform? = nil) {
        self.app = app
        self.provider = provider
        self.platform = platform
    }

    /// As the ledger has it, such as `drop/fcm` or `drop/fcm/ios`.
    package var text: String {
        let outlet = "\(app.text)/\(provider)"
        return platform.map { "\(outlet)/\($0.rawValue)" } ?? outlet
    }

    /// From the ledger's word; nil for one that no program of ours wrote.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 || parts.count == 3, let app = AppID(validating: parts[0]) else { return nil }
        guard parts.count == 3 else {
            self.init(app: app, provider: parts[1])
            return
        }
        guard let platform = DevicePlatform(rawValue: parts[2]) else { return nil }
        self.init(app: app, provider: parts[1], platform: platform)
    }
}
