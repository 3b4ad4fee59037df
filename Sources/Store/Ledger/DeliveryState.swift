/// Where a delivery stands.
///
/// `docs/delivery-states.md` draws the same table; a test holds them together.
package enum DeliveryState: String, CaseIterable, Sendable {
    /// Decided, and nobody has claimed it.
    case pending
    /// Claimed: whoever wrote the claim has the right to send and to settle, until the lease ends.
    case sending
    /// A resume waits in a retry tier.
    case retrying
    /// Waits in the database until it is due.
    case deferred
    /// The provider took it and answers later.
    case accepted
    case delivered
    case suppressed
    case expired
    case failed
    /// The answer never came, and policy forbids a repeat.
    case unknown

    /// The letter that the ledger keeps of it; `delivery_state()` has the word.
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

    /// The letter as a literal of SQL.
    var sql: String { "'\(letter)'" }

    /// Their letters, for `IN (…)`.
    static func list(where isWanted: (DeliveryState) -> Bool) -> String {
        allCases.filter(isWanted).map(\.sql).joined(separator: ", ")
    }

    /// The letters of what somebody still has to do something about.
    static let owed = list(where: \.isOwed)

    /// The letters of what nothing will change any more, but a replay of what failed.
    static let settled = list { !$0.isOwed && $0 != .accepted }

    /// The states that may follow; none after a final one, but that a replay takes up what failed.
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

    /// In which state a delivery may begin.
    package static let beginnings: Set<DeliveryState> = [.sending, .deferred, .suppressed, .expired]

    /// Whether somebody still has to do something about it.
    package var isOwed: Bool {
        switch self {
        case .pending, .sending, .retrying, .deferred: true
        case .accepted, .delivered, .suppressed, .expired, .failed, .unknown: false
        }
    }
}
