package import BellhopRules

/// The topics that a user follows now.
package struct UserFollows: Sendable {
    package struct Topic: Sendable {
        package let topic: String
        package let follow: StoredFollow
        package let since: Timestamp
    }

    /// The first of them, the muted ones before the others.
    package let topics: [Topic]
    /// The number of all, counted up to ``mostCounted``.
    package let count: Int
    package let isCapped: Bool

    package static let mostCounted = 1_000
}
