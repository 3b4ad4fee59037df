package import Settings

/// The kinds of rows that are scanned in turn for expired retention periods.
package enum RetentionKind: String, CaseIterable, Sendable {
    /// Notifications, with their deliveries.
    case notifications
    /// Deliveries whose notification was deleted without them.
    case deliveries
    case events
    case tombstones
    /// Tokens of ended devices. The device itself is kept.
    case tokens
    /// Ended devices that no notification can name.
    case devices
    /// Ended follows, after the time in which an older update of them may arrive.
    case follows
    /// Ended reminders, after the same time.
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

    /// Returns the retention period; `nil` for kinds that are kept indefinitely.
    ///
    /// An ended device appears in explanations as the destination of deliveries, so it is kept for longer than they
    /// are.
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
