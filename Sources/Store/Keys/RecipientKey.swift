package import BellhopRules

/// A user of an app: the key of everything that a user owns.
package struct RecipientKey: Hashable, Sendable {
    package let app: AppID
    package let user: UserID

    package init(app: AppID, user: UserID) {
        self.app = app
        self.user = user
    }
}
