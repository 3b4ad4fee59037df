import BellhopRules
import Postgres

/// One update of one kind for one user.
struct Word<Content> {
    let app: AppID
    let user: UserID
    let saidAt: Timestamp
    let content: Content
    /// The entry's `vouchedAt`.
    let vouchedAt: Timestamp?
    let isFromClient: Bool

    init(_ entry: FeedEntry, _ content: Content) {
        app = entry.update.app
        user = entry.update.change.user
        saidAt = entry.saidAt
        vouchedAt = entry.vouchedAt
        isFromClient = entry.isFromClient
        self.content = content
    }

    init(app: AppID, user: UserID, saidAt: Timestamp, _ content: Content) {
        self.app = app
        self.user = user
        self.saidAt = saidAt
        self.content = content
        vouchedAt = nil
        isFromClient = false
    }

    /// The parameters `$1` to `$4` of every feed statement: app, user, time, and the hash of the user's possible
    /// tombstone.
    static func who(_ words: [Word]) -> [Parameter] {
        [
            .textArray(words.map(\.app.text)), .textArray(words.map(\.user.text)),
            .instantArray(words.map(\.saidAt.microseconds)),
            .bytesArray(words.map { IdentityHash.recipient($0.app, $0.user).bytes }),
        ]
    }

    /// Returns the times at which the app's servers vouched for each user.
    static func vouched(_ words: [Word]) -> Parameter { .instantArray(words.map { $0.vouchedAt?.microseconds }) }
}
