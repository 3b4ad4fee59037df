/// A change of a user's data.
///
/// It needs no id: a repeat has no effect, and of two updates the later one wins.
public struct FeedUpdate: Hashable, Sendable {
    /// The app of the user.
    public let app: AppID
    /// The source time, which decides between older and newer updates; if it is `nil`, the time of arrival counts.
    public let sentAt: Timestamp?
    /// The change.
    public var change: FeedChange
}

/// The change of a feed message.
public enum FeedChange: Hashable, Sendable {
    /// The change of `recipient.upserted`.
    case recipientUpserted(RecipientUpdate)
    /// The change of `recipient.deleted`.
    case recipientDeleted(UserID)
    /// The change of `subscription.upserted`.
    case subscriptionUpserted(SubscriptionUpdate)
    /// The change of `subscription.revoked`.
    case subscriptionRevoked(user: UserID, token: DeviceToken)
    /// The change of `follow.added`.
    case followAdded(FollowUpdate)
    /// The change of `follow.removed`.
    case followRemoved(user: UserID, topic: Topic, token: DeviceToken?)
    /// The change of `reminder.set`.
    case reminderSet(ReminderUpdate)
    /// The change of `reminder.removed`.
    case reminderRemoved(user: UserID, id: ReminderID)
    /// The change of `notification.read`.
    case notificationRead(ReadUpdate)

    /// The user whose data change.
    public var user: UserID {
        switch self {
        case .recipientUpserted(let update): update.user
        case .subscriptionUpserted(let update): update.user
        case .followAdded(let update): update.user
        case .reminderSet(let update): update.user
        case .notificationRead(let update): update.user
        case .recipientDeleted(let user), .subscriptionRevoked(let user, _), .followRemoved(let user, _, _),
            .reminderRemoved(let user, _):
            user
        }
    }

    /// Replaces the topic, if there is one, by its canonical spelling.
    public mutating func foldTopic(_ rules: TopicRules) {
        switch self {
        case .followAdded(var update):
            update.topic = rules.canonical(update.topic)
            self = .followAdded(update)
        case .followRemoved(let user, let topic, let token):
            self = .followRemoved(user: user, topic: rules.canonical(topic), token: token)
        default: break
        }
    }

    /// The type of the feed message.
    public var type: FeedType {
        switch self {
        case .recipientUpserted: .recipientUpserted
        case .recipientDeleted: .recipientDeleted
        case .subscriptionUpserted: .subscriptionUpserted
        case .subscriptionRevoked: .subscriptionRevoked
        case .followAdded: .followAdded
        case .followRemoved: .followRemoved
        case .reminderSet: .reminderSet
        case .reminderRemoved: .reminderRemoved
        case .notificationRead: .notificationRead
        }
    }

    init(_ type: FeedType, _ reader: FieldReader) throws(FieldFault) {
        let user: UserID = try reader.required("userId")
        switch type {
        case .recipientUpserted: self = .recipientUpserted(try RecipientUpdate(user, reader))
        case .recipientDeleted: self = .recipientDeleted(user)
        case .subscriptionUpserted: self = .subscriptionUpserted(try SubscriptionUpdate(user, reader))
        case .subscriptionRevoked: self = .subscriptionRevoked(user: user, token: try reader.required("token"))
        case .followAdded: self = .followAdded(try FollowUpdate(user, reader))
        case .followRemoved:
            let topic: Topic = try reader.required("topic")
            self = .followRemoved(user: user, topic: topic, token: try reader.identifier("token"))
        case .reminderSet: self = .reminderSet(try ReminderUpdate(user, reader))
        case .reminderRemoved: self = .reminderRemoved(user: user, id: try reader.required("id"))
        case .notificationRead: self = .notificationRead(try ReadUpdate(user, reader))
        }
    }
}

/// The content of `follow.added`: a user starts to follow a topic, with an optional role and an optional mute.
public struct FollowUpdate: Hashable, Sendable {
    /// The follower.
    public let user: UserID
    /// The followed topic.
    public internal(set) var topic: Topic
    /// The role of the follower.
    public let role: FieldUpdate<FollowRole>
    /// Whether the topic is muted.
    public let muted: FieldUpdate<Bool>
    /// The one device that follows; `nil` for all of the user's devices.
    public let token: DeviceToken?

    init(_ user: UserID, _ reader: FieldReader) throws(FieldFault) {
        self.user = user
        topic = try reader.required("topic")
        role = try reader.update("role") { key throws(FieldFault) in try reader.identifier(key) }
        muted = try reader.update("muted") { key throws(FieldFault) in try reader.bool(key) }
        token = try reader.identifier("token")
    }
}
