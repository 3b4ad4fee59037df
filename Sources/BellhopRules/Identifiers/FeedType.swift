/// The types of messages that change users' data; available in every app, and in no catalogue.
public enum FeedType: String, CaseIterable, Hashable, Sendable {
    /// A user is new or has changed.
    case recipientUpserted = "recipient.upserted"
    /// A user is deleted, together with all of the user's rows.
    case recipientDeleted = "recipient.deleted"
    /// A device can be reached.
    case subscriptionUpserted = "subscription.upserted"
    /// A device must no longer be reached.
    case subscriptionRevoked = "subscription.revoked"
    /// A user follows a topic.
    case followAdded = "follow.added"
    /// A user no longer follows a topic.
    case followRemoved = "follow.removed"
    /// A reminder is new or has changed.
    case reminderSet = "reminder.set"
    /// A reminder is removed.
    case reminderRemoved = "reminder.removed"
    /// A user has read notifications in an app whose inbox is outside Bellhop.
    case notificationRead = "notification.read"
}

extension EventType {
    /// The type of the message that cancels an event, available in every app.
    public static let cancellation = "event.cancelled"

    /// Returns whether every app has this type, so that no catalogue may describe it.
    static func isReserved(_ name: String) -> Bool {
        FeedType(rawValue: name) != nil || name == cancellation
    }
}
