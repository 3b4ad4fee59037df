package import BellhopRules
import Postgres

/// A user of an app: the key of everything that a user owns.
package struct RecipientKey: Hashable, Sendable {
    package let app: AppID
    package let user: UserID

    package init(app: AppID, user: UserID) {
        self.app = app
        self.user = user
    }

    /// From texts; nil where one is missing or is none of ours.
    init?(_ app: String?, _ user: String?) {
        guard let app = app.flatMap(AppID.init(validating:)), let user = user.flatMap(UserID.init(validating:)) else {
            return nil
        }
        self.init(app: app, user: user)
    }
}

extension RecipientKey {
    static func parameters(_ keys: some Collection<RecipientKey>) -> [Parameter] {
        [.textArray(keys.map(\.app.text)), .textArray(keys.map(\.user.text))]
    }
}
