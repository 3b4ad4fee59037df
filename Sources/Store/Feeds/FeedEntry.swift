package import BellhopRules

/// A feed message with the time that decides its order.
package struct FeedEntry: Sendable {
    package let update: FeedUpdate
    /// The source timestamp, or the time of arrival if the message has none.
    package let saidAt: Timestamp
    /// The last time at which the app's servers vouched for the user, if known from this entry; `nil` for an update
    /// from a client.
    ///
    /// An erasure keeps only data that is vouched for after it.
    let vouchedAt: Timestamp?
    /// Whether the user's client sent the update, through the API.
    let isFromClient: Bool

    /// The maximum time by which a message's timestamp may be after its arrival.
    ///
    /// Clocks differ, and a timestamp further in the future would win over all others for as long.
    package static let mostAhead = Duration.seconds(300)

    /// Creates an entry for a message from the app's servers.
    package init(update: FeedUpdate, arrival: Timestamp) {
        self.update = update
        let latest = Timestamp(clamping: arrival.microseconds + Self.mostAhead.microseconds)
        saidAt = min(update.sentAt ?? arrival, latest)
        vouchedAt = saidAt
        isFromClient = false
    }

    /// Creates an entry for an update from a user's client.
    ///
    /// `vouchedAt` is the time at which its token was issued, if that was after an erasure of the user.
    init(client update: FeedUpdate, saidAt: Timestamp, vouchedAt: Timestamp?) {
        self.update = update
        self.saidAt = saidAt
        self.vouchedAt = vouchedAt
        isFromClient = true
    }

    /// Splits a batch into parts of so few users that the server can hold the locks of many such parts.
    ///
    /// All updates of a user are in one part.
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

    /// Splits a batch into parts with at most one update per user, the oldest first.
    ///
    /// Within a part the order does not matter, so one statement can write all updates of a kind.
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

    /// A user of an app, by which a batch is split.
    private struct User: Hashable {
        let app: AppID
        let user: UserID
    }
}
