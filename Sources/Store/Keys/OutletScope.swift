package import BellhopRules

/// An outlet, or its part for one platform or one event type.
///
/// Breakers stop it, and deliveries wait for it.
package struct OutletScope: Hashable, Sendable {
    package let app: AppID
    /// The provider, as named in metrics.
    package let provider: String
    /// The platform; `nil` for all devices.
    package let platform: DevicePlatform?
    /// The event type of deliveries that wait for a hold on this type, on all platforms; `nil` for all others.
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

    /// Whether it is the whole outlet.
    package var isWhole: Bool { platform == nil && type == nil }

    /// The text in the ledger, such as `drop/fcm`, `drop/fcm/ios` or `drop/fcm//system`.
    package var text: String {
        let outlet = "\(app.text)/\(provider)"
        if let type { return "\(outlet)//\(type.text)" }
        return platform.map { "\(outlet)/\($0.rawValue)" } ?? outlet
    }

    /// Parses the ledger's text; `nil` if no Bellhop process can have written it.
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

/// The part of an outlet for which the deliveries of a backlog wait.
package typealias BacklogKey = OutletScope

/// One priority of a backlog: urgent deliveries are pulled before the others.
package struct BacklogPlace: Hashable, Sendable {
    package let key: BacklogKey
    package let priority: Priority

    package init(_ key: BacklogKey, _ priority: Priority) {
        self.key = key
        self.priority = priority
    }
}

/// The place of a delivery that cannot be started.
package struct BacklogEntry: Hashable, Sendable {
    package let place: BacklogPlace
    /// The delivery's turn, the time of recording; `nil` if the statement that recorded it also claimed it, since the
    /// ledger has that time.
    package let queuedAt: Timestamp?

    package init(_ place: BacklogPlace, queuedAt: Timestamp?) {
        self.place = place
        self.queuedAt = queuedAt
    }
}
