package import BellhopRules
import Postgres

/// Items with the same fingerprint.
package struct DeadLetterGroup: Sendable {
    package let fingerprint: String
    package var items: Int
    package var users: Int
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    /// The cause of the latest item.
    package var cause: DeadLetterCause
    /// The number of failures in each of the last 24 hours, the oldest hour first.
    package var lastDay: [Int]
    /// The apps and types of its items.
    package var composition = DeadLetterComposition.empty
}

/// The groups that match a filter.
package struct DeadLetterGroups: Sendable {
    package let asOf: Timestamp
    /// Those with the most users first, at most ``most``.
    package let groups: [DeadLetterGroup]
    /// The number of groups, whether or not they are shown.
    package let count: Int
    package let items: Int

    package static let most = 50
}

extension DeadLetterGroup {
    /// Creates a group from the columns of the query for groups.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        fingerprint = try rows.text(row, "fingerprint")
        items = try rows.number(row, "items")
        users = try rows.number(row, "users")
        firstSeen = try rows.moment(row, "first_seen")
        lastSeen = try rows.moment(row, "last_seen")
        cause = try DeadLetterCause(rows, row)
        lastDay = Array(repeating: 0, count: 24)
    }
}

/// Groups dead letters that are not stored, in one pass over them.
package struct DeadLetterGrouping: Sendable {
    private var groups: [String: DeadLetterGroup] = [:]
    private var users: [String: Set<Int>] = [:]
    private var kinds: [String: DeadLetterComposition.Tally] = [:]
    private var beyond = 0
    private var items = 0
    private let now: Timestamp

    /// The maximum number of groups, more than an operator can review.
    ///
    /// Items beyond it are only counted.
    private static let most = 10_000

    package init(at now: Timestamp) {
        self.now = now
    }

    package mutating func add(_ item: DeadLetterItem) {
        items += 1
        let name = item.fingerprint
        guard groups[name] != nil || groups.count < Self.most else {
            beyond += 1
            return
        }
        var group =
            groups[name]
            ?? DeadLetterGroup(
                fingerprint: name,
                items: 0,
                users: 0,
                firstSeen: item.failedAt,
                lastSeen: item.failedAt,
                cause: item.cause,
                lastDay: Array(repeating: 0, count: Self.hours)
            )
        group.items += 1
        if item.failedAt >= group.lastSeen { (group.lastSeen, group.cause) = (item.failedAt, item.cause) }
        group.firstSeen = min(group.firstSeen, item.failedAt)
        let age = (now.microseconds - item.failedAt.microseconds) / Self.hour
        if age >= 0, age < Int64(Self.hours) { group.lastDay[Self.hours - 1 - Int(age)] += 1 }
        kinds[name, default: DeadLetterComposition.Tally()].add(item.cause)
        // Only the number of distinct users is needed, so a hash represents each.
        if let user = item.cause.user { users[name, default: []].insert(user.hashValue) }
        groups[name] = group
    }

    private static let hours = 24
    private static let hour: Int64 = 3_600_000_000

    /// The groups, those with the most users first.
    package var all: DeadLetterGroups {
        let counted = groups.values.map { group in
            var group = group
            group.users = users[group.fingerprint]?.count ?? 0
            group.composition = kinds[group.fingerprint]?.composition ?? .empty
            return group
        }
        let sorted = counted.sorted {
            ($1.users, $1.items, $0.fingerprint) < ($0.users, $0.items, $1.fingerprint)
        }
        return DeadLetterGroups(
            asOf: now,
            groups: Array(sorted.prefix(DeadLetterGroups.most)),
            count: groups.count + beyond,
            items: items
        )
    }
}
