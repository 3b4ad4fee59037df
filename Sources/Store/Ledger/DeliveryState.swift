import BellhopRules

/// The state of a delivery.
///
/// `docs/delivery-states.md` contains the same table; a test compares the two.
package enum DeliveryState: String, CaseIterable, Sendable {
    /// Ready to send, not claimed.
    case pending
    /// Claimed: until the lease ends, the claimer has the right to send and settle it.
    case sending
    /// Waits for a resume message in a retry tier.
    case retrying
    /// Waits in the database until it is due.
    case deferred
    /// The provider accepted it and reports the outcome later.
    case accepted
    case delivered
    case suppressed
    case expired
    case failed
    /// The provider accepted it and reported no outcome in time; it is not repeated.
    case unknown

    /// The letter that represents the state in the ledger; the SQL function `delivery_state()` returns the word.
    var letter: String {
        switch self {
        case .pending: "p"
        case .sending: "s"
        case .retrying: "r"
        case .deferred: "w"
        case .accepted: "a"
        case .delivered: "d"
        case .suppressed: "x"
        case .expired: "e"
        case .failed: "f"
        case .unknown: "u"
        }
    }

    init?(letter: String) {
        guard let state = Self.allCases.first(where: { $0.letter == letter }) else { return nil }
        self = state
    }

    /// The letter as an SQL literal.
    package var sql: String { "'\(letter)'" }

    /// Returns the letters of the matching states, for `IN (…)`.
    static func list(where isWanted: (DeliveryState) -> Bool) -> String {
        allCases.filter(isWanted).map(\.sql).joined(separator: ", ")
    }

    /// The letters of the states with open work.
    package static let owed = list(where: \.isOwed)

    /// The letters of the states that only a replay of a failed delivery can change.
    static let settled = list { !$0.isOwed && $0 != .accepted }

    /// The states that may follow.
    ///
    /// Terminal states have none, except that a replay may reopen a failed delivery.
    package var successors: Set<DeliveryState> {
        switch self {
        case .pending: [.sending]
        case .sending:
            [.sending, .retrying, .deferred, .accepted, .delivered, .suppressed, .expired, .failed, .unknown]
        case .retrying: [.pending, .sending, .deferred, .suppressed]
        case .deferred: [.pending, .sending, .suppressed]
        case .accepted: [.retrying, .deferred, .delivered, .failed, .unknown]
        case .failed: [.pending]
        case .delivered, .suppressed, .expired, .unknown: []
        }
    }

    /// The states in which a delivery may begin.
    package static let beginnings: Set<DeliveryState> = [.sending, .deferred, .suppressed, .expired]

    /// Whether the delivery is open work.
    package var isOwed: Bool {
        switch self {
        case .pending, .sending, .retrying, .deferred: true
        case .accepted, .delivered, .suppressed, .expired, .failed, .unknown: false
        }
    }
}

/// The reason why a `deferred` delivery waits, as the ledger stores it, unless a rule requires the wait (``Wait/Reason``).
///
/// None of these counts as an attempt. A retry that fits no tier is deferred with the provider's reason, and counts.
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

/// The reason why a delivery is given up and becomes a dead letter, as the ledger stores it.
package enum AbandonReason: String, CaseIterable, Sendable {
    /// The retry limit is reached.
    case attemptsExhausted = "attempts-exhausted"
    /// The provider never accepts this content.
    case payloadRefused = "payload-refused"

    /// All reasons, for an SQL list.
    static let list = allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}
