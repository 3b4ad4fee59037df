package import BellhopRules
import Postgres

/// A user of an app: the key of everything that a user owns.
package struct RecipientKey: Sendable {
    package let app: AppID
    package let user: UserID
    /// By which the inbox and the ledger name the user; nil where it was not looked up, or there is none yet.
    ///
    /// It says nothing about who the user is: two keys are equal whether or not they know it.
    package var number: PersonNumber?

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

extension RecipientKey: Hashable {
    package static func == (one: RecipientKey, other: RecipientKey) -> Bool {
        one.user == other.user && one.app == other.app
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(user)
        hasher.combine(app)
    }
}

extension RecipientKey {
    static func parameters(_ keys: some Collection<RecipientKey>) -> [Parameter] {
        [.textArray(keys.map(\.app.text)), .textArray(keys.map(\.user.text))]
    }
}
