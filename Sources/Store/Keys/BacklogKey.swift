package import BellhopRules

/// Where deliveries wait for their outlet: an app at one of its providers, or its devices of one platform there, where only
/// those are held up.
package struct BacklogKey: Hashable, Sendable {
    package let app: AppID
    /// The provider as metrics name it.
    package let provider: String
    /// Nil for what waits for the whole outlet.
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

/// One priority of a backlog: what is urgent is pulled before the rest.
package struct BacklogPlace: Hashable, Sendable {
    package let key: BacklogKey
    package let priority: Priority

    package init(_ key: BacklogKey, _ priority: Priority) {
        self.key = key
        self.priority = priority
    }
}

/// Where a delivery is put that cannot be started.
package struct BacklogEntry: Hashable, Sendable {
    package let place: BacklogPlace
    /// Its turn: when it was recorded; nil for what was recorded by the very statement that claimed it, as the ledger knows.
    package let queuedAt: Timestamp?

    package init(_ place: BacklogPlace, queuedAt: Timestamp?) {
        self.place = place
        self.queuedAt = queuedAt
    }
}
