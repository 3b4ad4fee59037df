package import BellhopRules

/// A feed message with the time that decides between older and newer.
package struct FeedEntry: Sendable {
    package let update: FeedUpdate
    /// When its source said it; its arrival if the message has no time.
    package let saidAt: Timestamp
    /// The last time at which the app's servers vouched for the user, as far as the entry tells; `nil` for a client's word
    /// alone.
    ///
    /// An erasure keeps only what is vouched for after it.
    let vouchedAt: Timestamp?
    /// Whether the user's client said it, through the API.
    let isFromClient: Bool

    /// How far ahead of its arrival the time of a message may be: clocks differ, and a time further ahead would win over
    /// all others for as long.
    package static let mostAhead = Duration.seconds(300)

    /// A message of the app's servers.
    package init(update: FeedUpdate, arrival: Timestamp) {
        self.update = update
        let latest = Timestamp(clamping: arrival.microseconds + Self.mostAhead.microseconds)
        saidAt = min(update.sentAt ?? arrival, latest)
        vouchedAt = saidAt
        isFromClient = false
    }

    /// What a user's client says; `vouchedAt` is when its token was issued, if that was after an erasure of the user.
    init(client update: FeedUpdate, saidAt: Timestamp, vouchedAt: Timestamp?) {
        self.update = update
        self.saidAt = saidAt
        self.vouchedAt = vouchedAt
        isFromClient = true
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
