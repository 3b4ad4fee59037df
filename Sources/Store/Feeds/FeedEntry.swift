package import BellhopRules
import Postgres

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
    /// Whether language and time zone are the device's, which a value that was set outranks.
    let isDefault: Bool

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
        isDefault = false
    }

    /// Creates an entry for an update from a user's client.
    ///
    /// `vouchedAt` is the time at which its token was issued, if that was after an erasure of the user.
    init(client update: FeedUpdate, saidAt: Timestamp, vouchedAt: Timestamp?, isDefault: Bool = false) {
        self.isDefault = isDefault
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

/// One update of one kind for one user.
struct UserUpdate<Content> {
    let app: AppID
    let user: UserID
    let saidAt: Timestamp
    let content: Content
    /// The entry's `vouchedAt`.
    let vouchedAt: Timestamp?
    let isFromClient: Bool
    /// The entry's `isDefault`.
    let isDefault: Bool

    init(_ entry: FeedEntry, _ content: Content) {
        app = entry.update.app
        user = entry.update.change.user
        saidAt = entry.saidAt
        vouchedAt = entry.vouchedAt
        isFromClient = entry.isFromClient
        isDefault = entry.isDefault
        self.content = content
    }

    init(app: AppID, user: UserID, saidAt: Timestamp, _ content: Content) {
        self.app = app
        self.user = user
        self.saidAt = saidAt
        self.content = content
        vouchedAt = nil
        isFromClient = false
        isDefault = false
    }

    /// The parameters `$1` to `$4` of every feed statement: app, user, time, and the hash of the user's possible
    /// tombstone.
    static func who(_ words: [UserUpdate]) -> [Parameter] {
        [
            .textArray(words.map(\.app.text)), .textArray(words.map(\.user.text)),
            .instantArray(words.map(\.saidAt.microseconds)),
            .bytesArray(words.map { IdentityHash.recipient($0.app, $0.user).bytes }),
        ]
    }

    /// Returns the times at which the app's servers vouched for each user.
    static func vouched(_ words: [UserUpdate]) -> Parameter { .instantArray(words.map { $0.vouchedAt?.microseconds }) }
}

/// The condition that an update is newer than a deletion.
enum Tombstone {
    /// `subject` is the column of `r` with the hash of the tombstone.
    static func spares(_ subject: String) -> String {
        """
        NOT EXISTS (
            SELECT FROM tombstones x WHERE x.app = r.app AND x.subject_hash = \(subject) AND x.deleted_at >= r.said_at
            OFFSET 0)
        """
    }
}
