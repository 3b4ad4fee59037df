/// A change of what belongs to a user.
///
/// It needs no id: doing it twice does nothing new, and of two the later one wins.
public struct FeedUpdate: Hashable, Sendable {
    /// The app whose user it is.
    public let app: AppID
    /// When it was sent, which decides between older and newer; nil where nothing says so, then its arrival counts.
    public let sentAt: Timestamp?
    /// What changes.
    public var change: FeedChange
}

/// What a feed message changes.
public enum FeedChange: Hashable, Sendable {
    /// `recipient.upserted`
    case recipientUpserted(RecipientUpdate)
    /// `recipient.deleted`
    case recipientDeleted(UserID)
    /// `subscription.upserted`
    case subscriptionUpserted(SubscriptionUpdate)
    /// `subscription.revoked`
    case subscriptionRevoked(user: UserID, token: DeviceToken)
    /// `follow.added`
    case followAdded(FollowUpdate)
    /// `follow.removed`
    case followRemoved(user: UserID, topic: Topic, token: DeviceToken?)
    /// `reminder.set`
    case reminderSet(ReminderUpdate)
    /// `reminder.removed`
    case reminderRemoved(user: UserID, id: ReminderID)
    /// `notification.read`
    case notificationRead(ReadingUpdate)

    /// The user concerned.
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

    /// Spells the topic, where there is one, as topics are stored and looked up.
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

    /// The kind of message that said so.
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
        case .notificationRead: self = .notificationRead(try ReadingUpdate(user, reader))
        }
    }
}

/// What `follow.added` says: a user follows a topic from now on, perhaps in a role, perhaps in silence.
public struct FollowUpdate: Hashable, Sendable {
    /// The follower.
    public let user: UserID
    /// What is followed.
    public internal(set) var topic: Topic
    /// In which role.
    public let role: FieldUpdate<FollowRole>
    /// Whether its notifications stay silent.
    public let muted: FieldUpdate<Bool>
    /// The one device that follows; nil for all that the user has.
    public let token: DeviceToken?

    init(_ user: UserID, _ reader: FieldReader) throws(FieldFault) {
        self.user = user
        topic = try reader.required("topic")
        role = try reader.update("role") { key throws(FieldFault) in try reader.identifier(key) }
        muted = try reader.update("muted") { key throws(FieldFault) in try reader.bool(key) }
        token = try reader.identifier("token")
    }
}
