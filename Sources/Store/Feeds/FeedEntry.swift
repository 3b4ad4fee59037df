package import BellhopRules

/// A feed message with the time that decides between older and newer.
package struct FeedEntry: Sendable {
    package let update: FeedUpdate
    /// When its source said it; where the message does not tell, its arrival.
    package let saidAt: Timestamp

    package init(update: FeedUpdate, arrival: Timestamp) {
        self.update = update
        saidAt = update.sentAt ?? arrival
    }

    /// Splits a batch so that each part is about so few users that the server can hold the locks of many such parts, and
    /// all words about a user are in one.
    static func groups(of entries: [FeedEntry]) -> [[FeedEntry]] {
        var groups: [[FeedEntry]] = []
        var places: [User: Int] = [:]
        for entry in entries {
            let user = User(app: entry.update.app, user: entry.update.change.user)
            let place = places[user] ?? places.count / usersPerGroup
            places[user] = place
            if place == groups.count { groups.append([]) }
            groups[place].append(entry)
        }
        return groups
    }

    private static let usersPerGroup = 64

    /// Splits a batch so that each part holds at most one word about a user, the oldest first: within a part the order
    /// does not matter, and one statement can take all words of a kind.
    static func rounds(of entries: [FeedEntry]) -> [[FeedEntry]] {
        var rounds: [[FeedEntry]] = []
        var depth: [User: Int] = [:]
        for entry in entries.sorted(by: { $0.saidAt < $1.saidAt }) {
            let user = User(app: entry.update.app, user: entry.update.change.user)
            let round = depth[user, default: 0]
            depth[user] = round + 1
            if round == rounds.count { rounds.append([]) }
            rounds[round].append(entry)
        }
        return rounds
    }

    private struct User: Hashable {
        let app: AppID
        let user: UserID
    }
}
