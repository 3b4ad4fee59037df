package import BellhopRules

/// Items of the same trouble, together.
package struct DeadLetterGroup: Sendable {
    package let fingerprint: String
    package let items: Int
    package let users: Int
    package let firstSeen: Timestamp
    package let lastSeen: Timestamp
    package let stage: String
    package let reason: String
    package let provider: String?
    /// Those of the latest item.
    package let app: String?
    package let eventType: String?
    /// What the latest item says.
    package let error: String
    /// How many failed in each of the last 24 hours, the oldest hour first.
    package var lastDay: [Int]
}

/// All groups of a filter.
package struct DeadLetterGroups: Sendable {
    package let asOf: Timestamp
    /// The largest first, at most ``most``.
    package let groups: [DeadLetterGroup]
    /// How many there are, shown or not.
    package let count: Int
    package let items: Int

    package static let most = 50
}

/// One item in a list.
package struct DeadLetterSummary: Sendable {
    package let deadID: String
    package let state: DeadLetterState
    package let fingerprint: String
    package let stage: String
    package let reason: String
    package let pointer: String?
    package let error: String
    package let provider: String?
    package let app: String?
    package let eventType: String?
    package let eventID: String?
    package let user: String?
    package let attempts: Int
    package let copies: Int
    package let deaths: Int
    package let replays: Int
    package let replay: Int64?
    package let resolution: String?
    package let editedFrom: String?
    package let firstFailedAt: Timestamp
    package let lastFailedAt: Timestamp
    package let filedAt: Timestamp
    /// The line of the ledger that was given up; nil for a message that was rejected.
    package let delivery: DeliveryKey?
}

/// Items of a list, and how many a longer one would have.
package struct DeadLetterPage: Sendable {
    package let asOf: Timestamp
    package let items: [DeadLetterSummary]
    package let count: Int
}

/// How many items are meant, at a moment: what an act is confirmed for.
package struct DeadLetterCount: Sendable, Equatable {
    package let items: Int
    package let users: Int
    package let asOf: Timestamp
}

/// Everything that is known of one item.
package struct DeadLetterDossier: Sendable {
    package let summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let history: [Entry]
    /// The item that is its corrected copy.
    package let editedInto: String?

    /// Something that happened to it.
    package struct Entry: Sendable {
        package let at: Timestamp
        package let kind: String
        package let `operator`: String?
        package let words: String
    }
}
