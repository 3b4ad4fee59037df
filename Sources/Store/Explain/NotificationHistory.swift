package import BellhopRules

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
    /// The user's follow of the event's topic; `nil` if the event was not for a topic.
    package let following: Following?
    /// The stored event, if it is or was stored until it was due or expanded.
    package let plan: Plan?
    /// The event's dead letters for this user or for all of its users, the oldest first.
    package let deadLetters: [DeadLetterSummary]
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
