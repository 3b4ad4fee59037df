package import ServiceRuntime

/// What is looked through, one after the other, for what has been kept for long enough.
package enum RetiredKind: String, CaseIterable, Sendable {
    /// Notifications go with their lines.
    case notifications
    /// Lines whose notification has gone without them.
    case deliveries
    case events
    case tombstones
    /// Addresses of ended devices: the device stays known, without them.
    case tokens
    /// Ended devices that no notification can name any more.
    case devices
    /// Follows that have ended, when no older word about them can come any more.
    case follows
    /// Reminders that have ended, likewise.
    case reminders

    var table: String {
        switch self {
        case .notifications: "inbox"
        case .deliveries: "ledger"
        case .events: "events"
        case .tombstones: "tombstones"
        case .tokens, .devices: "push_subscriptions"
        case .follows: "follows"
        case .reminders: "reminders"
        }
    }

    /// Nil for what never goes.
    ///
    /// An ended device says in explanations where something went, so it outlives what went there.
    package func age(in retention: Retention) -> Duration? {
        switch self {
        case .notifications, .deliveries: return retention[.notifications]
        case .events: return retention[.events]
        case .tombstones, .follows, .reminders: return retention[.tombstones]
        case .tokens: return retention[.tokens]
        case .devices:
            guard let notifications = retention[.notifications], let tombstones = retention[.tombstones],
                let tokens = retention[.tokens]
            else { return nil }
            return max(notifications, tombstones, tokens)
        }
    }
}
