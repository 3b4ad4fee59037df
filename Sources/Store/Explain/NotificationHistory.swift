package import BellhopRules
import Postgres

/// All stored data of one event for one user, to explain why the user did or did not receive it.
package struct NotificationHistory: Sendable {
    /// The subject of the explanation.
    package enum Subject: Sendable {
        case notification(NotificationID)
        case event(EventID)
    }

    package let key: NotificationKey
    /// The event; `nil` if the requested notification does not exist, since an id does not reveal its event.
    package let event: EventID?
    /// The notification; `nil` if the user has none of this event.
    package let record: Record?
    /// The deliveries in the ledger, by channel and target.
    package let lines: [DeliveryHistory]
    /// The user's devices, the active ones first.
    package let devices: [KnownDevice]
    package let settings: Settings
    /// The user's follow of the event's topic; `nil` if the event was not for a topic, or neither its notification nor
    /// the event itself is stored.
    package let following: Following?
    /// The stored event, if it is or was stored until it was due or expanded.
    package let plan: Plan?
    /// The event's dead letters for this user or for all of its users, the oldest first.
    package let deadLetters: [DeadLetterSummary]
    /// The user's dead letters without a legible event id, which may include the event, the latest first; read only if
    /// nothing else is stored.
    package let namelessDeadLetters: [DeadLetterSummary]
    /// The user's erasure; `nil` if the user was never erased.
    package let erasure: Erasure?

    /// The notification in the inbox.
    package struct Record: Sendable {
        package let notification: StoredNotification
        package let readAt: Timestamp?
        /// The next later notification with the same collapse key, which has replaced it.
        package let successor: Successor?
    }

    /// The notification that has replaced another one.
    package struct Successor: Sendable {
        package let id: String
        package let createdAt: Timestamp
    }

    /// The topic of a notification, and the user's current follow of it.
    package struct Following: Sendable {
        package let topic: Topic
        /// The follow; `nil` if none is stored.
        package let follow: Follow?

        /// A row of `follows`.
        package struct Follow: Sendable {
            package let said: StoredFollow
            package let since: Timestamp
            /// When the follow was stored, which determines whether a fan-out includes the user.
            package let storedAt: Timestamp
            /// When the follow ended; `nil` while it exists.
            package let removedAt: Timestamp?
        }

        /// Returns the follow as the rules require it.
        package func facts(for key: UserKey, with devices: [Device]) -> DecisionFacts.Follow {
            guard let follow, follow.removedAt == nil else { return .ended }
            return follow.said.facts(for: key, with: devices)
        }
    }

    /// The user's current settings.
    package struct Settings: Sendable {
        /// The settings as the rules read them; defaults if nothing is stored.
        package let recipient: Recipient
        /// When the user's row was last written; `nil` if there is none.
        package let changedAt: Timestamp?
        package let preferencesChangedAt: Timestamp?
        /// When the user's row was created, by the database's clock: since then, the user belongs to everyone.
        package let knownSince: Timestamp?
    }

    /// A row of `events`.
    package struct Plan: Sendable {
        /// The event type; `nil` for a cancellation that arrived before its event.
        package let type: String?
        package let audience: Audience?
        package let sentAt: Timestamp?
        /// The planned time; `nil` for an event that only waits for its expansion.
        package let deliverAt: Timestamp?
        package let keptAt: Timestamp
        package let handedOverAt: Timestamp?
        package let expandedAt: Timestamp?
        package let cancelledAt: Timestamp?
        /// The fan-out; `nil` if the event names its users or its expansion has not begun.
        package let fanout: Fanout?
        /// Bellhop's reason for closing the event; `nil` if it was not closed.
        package let closing: DueEvent.Closing?

        /// The topic of the audience; `nil` for named users and for everyone.
        var topic: Topic? {
            guard case .topic(let name)? = audience else { return nil }
            return Topic(validating: name)
        }
    }

    /// The progress of an event for a topic or for everyone.
    package struct Fanout: Sendable, Equatable {
        package let state: FanoutState
        /// When the snapshot was taken, which determines the audience.
        package let startedAt: Timestamp
        /// When it was finished or cancelled.
        package let endedAt: Timestamp?
    }

    /// The audience of a stored event.
    package enum Audience: Sendable, Equatable {
        /// Named users.
        case named(count: Int, includesUser: Bool)
        case topic(String)
        case everyone
    }

    /// The erasure of a user, according to the tombstone.
    package struct Erasure: Sendable {
        package let erasedAt: Timestamp
        /// When the user was created again.
        package let returnedAt: Timestamp?
    }

    /// Whether the tables contain nothing about it.
    package var isUnknown: Bool {
        record == nil && lines.isEmpty && plan == nil && deadLetters.isEmpty && erasure == nil
    }
}

/// A delivery in the ledger, as shown in an explanation.
package struct DeliveryHistory: Sendable {
    package let channel: String
    package let target: String
    /// The state; `nil` if a newer version has added it.
    package let state: DeliveryState?
    package let reason: String?
    package let attempts: Int
    package let unknownSends: Int
    package let providerMessageID: String?
    package let dueAt: Timestamp?
    /// The time until which a rule made it wait, even if that time has passed.
    package let waitedUntil: Timestamp?
    /// The digest that contains or contained it.
    package let digest: Timestamp?
    /// The number of other deliveries in that digest to the same device.
    package let digestCompanions: Int
    package let updatedAt: Timestamp
    /// Its place in a backlog; `nil` if it does not wait for its outlet.
    package let backlog: Backlog?

    /// A place in the backlog of an outlet.
    package struct Backlog: Sendable {
        /// The name, such as `drop/fcm`.
        package let name: String
        /// The delivery's turn.
        package let queuedAt: Timestamp
    }
}

/// A subscription as shown in an explanation, without its token.
package struct KnownDevice: Sendable {
    package let subscription: String
    package let platform: String
    package let provider: String
    package let permission: String?
    package let registeredAt: Timestamp
    package let lastSeenAt: Timestamp
    package let revokedAt: Timestamp?
    package let revokeReason: String?
}

extension Rows {
    /// Reads a time that Bellhop has written into JSON.
    fileprivate func writtenInstant(_ row: Int, _ column: Column) throws(PostgresError) -> Timestamp? {
        try optionalText(row, column).flatMap(Timestamp.init(validating:))
    }
}

extension DeliveryHistory {
    /// Creates a delivery from the columns of `NotificationHistoryStatements.lines`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        channel = try rows.text(row, 0)
        target = try rows.text(row, 1)
        state = DeliveryState(rawValue: try rows.text(row, 2))
        reason = try rows.optionalText(row, 3)
        attempts = try rows.number(row, 4)
        unknownSends = try rows.number(row, 5)
        providerMessageID = try rows.optionalText(row, 6)
        dueAt = try rows.timestamp(row, 7)
        waitedUntil = try rows.writtenInstant(row, 8)
        digest = try rows.writtenInstant(row, 9)
        digestCompanions = max(0, try rows.number(row, 10) - 1)
        updatedAt = try rows.moment(row, 11)
        if let name = try rows.optionalText(row, 12), let queuedAt = try rows.timestamp(row, 13) {
            backlog = Backlog(name: name, queuedAt: queuedAt)
        } else {
            backlog = nil
        }
    }
}

extension KnownDevice {
    /// Creates a device from the columns of `NotificationHistoryStatements.devices`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        subscription = try rows.text(row, 0)
        platform = try rows.text(row, 1)
        provider = try rows.text(row, 2)
        permission = try rows.optionalText(row, 3)
        registeredAt = try rows.moment(row, 4)
        lastSeenAt = try rows.moment(row, 5)
        revokedAt = try rows.timestamp(row, 6)
        revokeReason = try rows.optionalText(row, 7)
    }
}

extension NotificationHistory.Plan {
    /// Creates a plan from the columns of `NotificationHistoryStatements.plan`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        type = try rows.optionalText(row, 0)
        sentAt = try rows.writtenInstant(row, 1)
        deliverAt = try rows.writtenInstant(row, 2)
        if let count = try rows.optionalInteger(row, 3) {
            audience = .named(count: Int(clamping: count), includesUser: try rows.optionalBoolean(row, 4) ?? false)
        } else if let topic = try rows.optionalText(row, 5) {
            audience = .topic(topic)
        } else {
            audience = type == nil ? nil : .everyone
        }
        keptAt = try rows.moment(row, 6)
        handedOverAt = try rows.timestamp(row, 7)
        expandedAt = try rows.timestamp(row, 8)
        cancelledAt = try rows.timestamp(row, 9)
        if let state = try rows.optionalText(row, 11).flatMap(FanoutState.init(rawValue:)),
            let startedAt = try rows.timestamp(row, 12)
        {
            fanout = NotificationHistory.Fanout(
                state: state,
                startedAt: startedAt,
                endedAt: try rows.timestamp(row, 13)
            )
        } else {
            fanout = nil
        }
        closing = try rows.optionalText(row, 10).flatMap(DueEvent.Closing.init(rawValue:))
    }
}

extension NotificationHistory.Erasure {
    /// Creates an erasure from the columns of `NotificationHistoryStatements.erasure`.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        erasedAt = try rows.moment(row, 0)
        returnedAt = try rows.timestamp(row, 1)
    }
}
