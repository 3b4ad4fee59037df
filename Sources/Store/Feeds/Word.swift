import BellhopRules
import Postgres

/// One word about one user, of one kind.
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

    /// `$1` to `$4` of every feed statement: app, user, time, and the hash under which the person may be a tombstone.
    static func who(_ words: [Word]) -> [Parameter] {
        [
            .textArray(words.map(\.app.text)), .textArray(words.map(\.user.text)),
            .instantArray(words.map(\.saidAt.microseconds)),
            .bytesArray(words.map { SubjectHash.recipient($0.app, $0.user).bytes }),
        ]
    }

    /// When the app's servers vouched for the user with each word.
    static func vouched(_ words: [Word]) -> Parameter { .instantArray(words.map { $0.vouchedAt?.microseconds }) }
}
