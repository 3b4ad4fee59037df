package import BellhopRules
package import Cryptography

/// One notification about to be written: what one user shall find in the app because of one event.
package struct InboxRecord: Sendable {
    package let app: AppID
    package let user: UserID
    package let id: NotificationID
    package let event: EventID
    package let contentHash: ContentHash
    package let type: EventType
    package let title: String
    package let body: String
    package let priority: Priority
    package let venueID: String?
    /// JSON text.
    package let link: [UInt8]?
    /// JSON text.
    package let data: [UInt8]?
    /// When its source said it; nil where it did not say.
    package let saidAt: Timestamp?
}
