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
    /// The answer was lost, and the policy forbids a repeat.
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
        case .retrying: [.pending, .sending, .deferred]
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
