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

    /// Returns the change that a signed-in user makes to the user's data, by the rules of the feed message of this
    /// type, or the rejection.
    ///
    /// `fields` are those of the message without the user, which the token names. The update has no source time,
    /// because it is made now.
    package static func said(
        by user: UserID,
        of app: AppID,
        _ type: FeedType,
        _ fields: JSONObject
    ) -> Result<FeedUpdate, Rejection> {
        var fields = fields
        fields["userId"] = .string(user.text)
        do throws(FieldFault) {
            let change = try FeedChange(type, JSONFieldReader(fields, at: .root))
            return .success(FeedUpdate(app: app, sentAt: nil, change: change))
        } catch {
            return .failure(Rejection(error, app: app, type: nil, id: nil))
        }
    }
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

    init(_ type: FeedType, _ reader: JSONFieldReader) throws(FieldFault) {
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

    init(_ user: UserID, _ reader: JSONFieldReader) throws(FieldFault) {
        self.user = user
        topic = try reader.required("topic")
        role = try reader.update("role") { key throws(FieldFault) in try reader.identifier(key) }
        muted = try reader.update("muted") { key throws(FieldFault) in try reader.bool(key) }
        token = try reader.identifier("token")
    }
}

/// The content of `notification.read`: a user has read notifications in an app whose inbox is outside Bellhop.
public struct ReadUpdate: Hashable, Sendable {
    /// The notifications that were read.
    public enum Selection: Hashable, Sendable {
        /// The named notifications.
        case named([NotificationID])
        /// All notifications up to an instant; up to the time of the message if there is none.
        case all(until: Timestamp?)
    }

    /// The user.
    public let user: UserID
    /// The notifications that were read.
    public let which: Selection

    /// The maximum number of ids, which equals that of a request to the inbox API.
    static let mostIDs = 100

    init(_ user: UserID, _ reader: JSONFieldReader) throws(FieldFault) {
        self.user = user
        let ids = try reader.array("ids")
        let all = try reader.bool("all") ?? false
        switch (ids, all) {
        case (let ids?, false): which = .named(try Self.ids(ids, reader.place("ids")))
        case (nil, true): which = .all(until: try reader.timestamp("until"))
        case (nil, false): throw reader.missing("ids", "a list of ids, or all in place of it")
        case (.some, true): throw FieldFault(.invalidField, at: reader.place("all"), "expected either ids or all")
        }
    }

    private static func ids(_ values: [JSONValue], _ place: JSONPointer) throws(FieldFault) -> [NotificationID] {
        guard (1...mostIDs).contains(values.count) else {
            throw FieldFault(.invalidField, at: place, "expected 1 to \(mostIDs) ids")
        }
        var ids: [NotificationID] = []
        for (index, value) in values.enumerated() {
            guard let id = value.string.flatMap(NotificationID.init(validating:)) else {
                throw FieldFault(at: place.index(index), expected: "noti_ and 16 hexadecimal digits", found: value)
            }
            ids.append(id)
        }
        return ids
    }
}

/// The content of `recipient.upserted`.
public struct RecipientUpdate: Hashable, Sendable {
    /// The user.
    public let user: UserID
    /// The language of the texts.
    public let locale: FieldUpdate<LanguageTag>
    /// The zone for quiet hours and reminders.
    public let timezone: FieldUpdate<TimeZoneName>
    /// The e-mail address.
    public let email: FieldUpdate<EmailAddress>
    /// The preference document as received, until it is normalised.
    public private(set) var preferences: FieldUpdate<JSONObject>
    /// Whether devices may be used.
    public let pushEnabled: FieldUpdate<Bool>
    /// Whether e-mail may be used.
    public let emailEnabled: FieldUpdate<Bool>

    init(_ user: UserID, _ reader: JSONFieldReader) throws(FieldFault) {
        self.user = user
        locale = try reader.update("locale") { key throws(FieldFault) in try reader.identifier(key) }
        timezone = try reader.update("timezone") { key throws(FieldFault) in try reader.identifier(key) }
        email = try reader.update("email") { key throws(FieldFault) in try reader.identifier(key) }
        preferences = try reader.update("preferences") { key throws(FieldFault) in try reader.object(key) }
        pushEnabled = try reader.update("pushEnabled") { key throws(FieldFault) in try reader.bool(key) }
        emailEnabled = try reader.update("emailEnabled") { key throws(FieldFault) in try reader.bool(key) }
    }

    /// Normalises the preferences and returns whether they had to be repaired.
    ///
    /// Afterwards, they are an update of the stored document: `pausedUntil` and `emailToggles` are absent if the stored
    /// ones are kept, and null if they are removed.
    public mutating func normalizePreferences(_ schema: PreferenceSchema, at now: Timestamp) -> Bool {
        guard case .set(let document) = preferences else { return false }
        let normalized = PreferenceDocument(normalizing: .object(document), schema: schema, now: now)
        preferences = .set(normalized.update(by: document))
        return normalized.wasRepaired
    }
}
