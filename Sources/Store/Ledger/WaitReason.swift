import BellhopRules

/// Why a `deferred` delivery waits, as the ledger stores it, unless a rule requires the wait (``Wait/Reason``).
///
/// None of these counts as an attempt.
package enum WaitReason: String, CaseIterable, Sendable {
    /// An operator's hold covers it.
    case held
    /// The provider rejects our credentials or settings.
    case breaker
    /// The provider has requested a pause.
    case providerRests = "provider-rests"
    /// The window, the budget or the lane's share has no free place, or other deliveries wait already.
    case windowFull = "window-full"
    /// Half of its lease was over before its turn came.
    case leaseOver = "lease-over"
    /// The worker's catalogue does not contain the type of the notification, but another worker's did.
    case unknownType = "unknown-type"
    /// The database fails only for this user or content, so that no decision is possible.
    case lookUpFailed = "look-up-failed"

    var sql: String { "'\(rawValue)'" }

    /// Reasons to wait for something other than the provider, for an SQL list.
    static let apartFromProvider =
        (Wait.Reason.allCases.map { "'\($0.rawValue)'" } + [held, unknownType, lookUpFailed].map(\.sql))
        .joined(separator: ", ")

    /// Reasons to wait in a backlog only because the provider lacks capacity or requires a pause, for an SQL list.
    static let beforeAttempt = [windowFull, leaseOver, providerRests].map(\.sql).joined(separator: ", ")
}

/// Why a delivery is given up, so that it becomes a dead letter, as the ledger stores it.
package enum AbandonReason: String, CaseIterable, Sendable {
    /// The retry limit is reached.
    case attemptsExhausted = "attempts-exhausted"
    /// The provider never accepts this content.
    case payloadRefused = "payload-refused"

    /// All reasons, for an SQL list.
    static let list = allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
