package import BellhopRules

/// Items of the same trouble, together.
package struct DeadLetterGroup: Sendable {
    package let fingerprint: String
    package let items: Int
    package let users: Int
    package let firstSeen: Timestamp
    package let lastSeen: Timestamp
    /// That of the latest item.
    package let cause: DeadLetterCause
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
    package var state: DeadLetterState
    package let fingerprint: String
    package let cause: DeadLetterCause
    package let attempts: Int
    package let copies: Int
    package var deaths: Int
    package var replays: Int
    package let replay: Int64?
    package var resolution: String?
    package let editedFrom: String?
    package var firstFailedAt: Timestamp
    package let lastFailedAt: Timestamp
    package let filedAt: Timestamp
    /// The line of the ledger that was given up; nil for a message that was rejected.
    package let delivery: DeliveryKey?
}

extension DeadLetterSummary {
    /// Of a letter that is not filed, as it would be filed first.
    package init(_ item: DeadLetterItem) {
        deadID = item.replay?.item ?? item.deadID
        state = .open
        fingerprint = item.fingerprint
        cause = item.cause
        attempts = item.attempts
        copies = 1
        replays = item.replay?.round ?? 0
        deaths = replays + 1
        replay = nil
        editedFrom = nil
        firstFailedAt = item.failedAt
        lastFailedAt = item.failedAt
        filedAt = item.failedAt
        delivery = item.delivery
    }
}

/// An item with its message.
package struct DeadLetterMessage: Sendable {
    package var summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let contentHash: [UInt8]

    /// Of a letter that is not filed.
    package init(_ item: DeadLetterItem) {
        summary = DeadLetterSummary(item)
        origin = item.origin
        contentHash = item.contentHash
    }

    /// As it would come with its letter.
    var item: DeadLetterItem {
        var item = DeadLetterItem(
            summary.deadID,
            summary.cause,
            failedAt: summary.lastFailedAt,
            origin: origin,
            contentHash: contentHash
        )
        item.attempts = summary.attempts
        item.delivery = summary.delivery
        return item
    }
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
