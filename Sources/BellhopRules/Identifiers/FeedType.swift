/// The messages that feed what belongs to a user; known to every app, and in no catalogue.
public enum FeedType: String, CaseIterable, Hashable, Sendable {
    /// A user is new or has changed.
    case recipientUpserted = "recipient.upserted"
    /// A user is gone, and every row goes too.
    case recipientDeleted = "recipient.deleted"
    /// A device can be reached.
    case subscriptionUpserted = "subscription.upserted"
    /// A device must not be reached any more.
    case subscriptionRevoked = "subscription.revoked"
    /// A user follows a topic.
    case followAdded = "follow.added"
    /// A user no longer follows a topic.
    case followRemoved = "follow.removed"
    /// A reminder is new or has changed.
    case reminderSet = "reminder.set"
    /// A reminder is gone.
    case reminderRemoved = "reminder.removed"
    /// A user has read notifications, in an app whose inbox is elsewhere.
    case notificationRead = "notification.read"
}

extension EventType {
    /// The type that takes back an event, known to every app.
    public static let cancellation = "event.cancelled"

    /// Whether every app has this type, so that no catalogue may describe it.
    static func isReserved(_ name: String) -> Bool {
        FeedType(rawValue: name) != nil || name == cancellation
    }
}
