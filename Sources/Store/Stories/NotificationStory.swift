package import BellhopRules

/// Everything that the tables know of one event for one user: for whoever asks why they did, or did not, get it.
package struct NotificationStory: Sendable {
    /// What is asked for.
    package enum Subject: Sendable {
        case notification(NotificationID)
        case event(EventID)
    }

    package let key: NotificationKey
    /// Nil where a notification is asked for that is not there: an id does not tell its event.
    package let event: EventID?
    /// Nil where the user has none of this event.
    package let record: Record?
    /// Its lines in the ledger, by channel and target.
    package let lines: [LedgerLine]
    /// The user's devices, those that stand first.
    package let devices: [KnownDevice]
    package let settings: Settings
    /// How the user follows the topic that it came of; nil where it came of none.
    package let following: Following?
    /// The event itself where it is, or was, kept for later or for its expansion.
    package let plan: Plan?
    /// Of this event, for this user or for all of its users, oldest first.
    package let deadLetters: [DeadLetterSummary]
    /// Nil for a user who was never erased.
    package let erasure: Erasure?

    /// What stands in the app.
    package struct Record: Sendable {
        package let notification: StoredNotification
        package let readAt: Timestamp?
        /// The next later one with the same collapse key, which has taken its place.
        package let successor: Successor?
    }

    package struct Successor: Sendable {
        package let id: String
        package let createdAt: Timestamp
    }

    /// The topic that a notification came of, and how its user follows it now.
    package struct Following: Sendable {
        package let topic: Topic
        /// Nil for somebody of whose follow nothing is known.
        package let follow: Follow?

        /// A row of `follows`.
        package struct Follow: Sendable {
            package let said: StoredFollow
            package let since: Timestamp
            /// Nil while it stands.
            package let removedAt: Timestamp?
        }

        /// As the rules ask for it.
        package func facts(for key: RecipientKey, with devices: [Device]) -> DecisionFacts.Follow {
            guard let follow, follow.removedAt == nil else { return .ended }
            return follow.said.facts(for: key, with: devices)
        }
    }

    /// The user's settings as they are now.
    package struct Settings: Sendable {
        /// As the rules see them; nothing stored means the defaults.
        package let recipient: Recipient
        /// When the user's row was written last; nil where there is none.
        package let changedAt: Timestamp?
        package let preferencesChangedAt: Timestamp?
    }

    /// A row of `events`.
    package struct Plan: Sendable {
        /// Nil for a cancellation that overtook its event.
        package let type: String?
        package let audience: Audience?
        package let sentAt: Timestamp?
        /// Nil for an event that waits for its expansion alone.
        package let deliverAt: Timestamp?
        package let keptAt: Timestamp
        package let handedOverAt: Timestamp?
        package let expandedAt: Timestamp?
        package let cancelledAt: Timestamp?
        /// Nil for one that names its users, or that nobody has begun to expand.
        package let fanout: Fanout?
        /// Why we ended it, where its producer did not take it back.
        package let closing: DueEvent.Closing?
    }

    /// How far an event for a wider audience has come.
    package struct Fanout: Sendable, Equatable {
        package let state: FanoutState
        /// Who followed then is meant.
        package let startedAt: Timestamp
        /// When it was finished or cancelled.
        package let endedAt: Timestamp?
    }

    /// Whom a kept event is for.
    package enum Audience: Sendable, Equatable {
        /// Users by name.
        case named(count: Int, includesUser: Bool)
        case topic(String)
        case everyone
    }

    package struct Erasure: Sendable {
        package let erasedAt: Timestamp
        /// When the user was fed anew.
        package let returnedAt: Timestamp?
    }

    /// Whether the tables have never heard of it.
    package var isUnknown: Bool {
        record == nil && lines.isEmpty && plan == nil && deadLetters.isEmpty && erasure == nil
    }
}

/// A line of the ledger as a person asks for it.
package struct LedgerLine: Sendable {
    package let channel: String
    package let target: String
    /// Nil where a newer program knows more states.
    package let state: DeliveryState?
    package let reason: String?
    package let attempts: Int
    package let unknownSends: Int
    package let providerMessageID: String?
    package let dueAt: Timestamp?
    /// Until when a rule made it wait, also when that is over.
    package let waitedUntil: Timestamp?
    /// The digest that it is, or was, gathered for.
    package let digest: Timestamp?
    /// Other deliveries of that digest to the same device.
    package let digestCompanions: Int
    package let updatedAt: Timestamp
    /// Where it waits for its outlet; nil where it waits for nothing, or for a time.
    package let backlog: Backlog?

    /// A place in the backlog of an outlet.
    package struct Backlog: Sendable {
        /// Such as `drop/fcm`.
        package let name: String
        /// Its turn.
        package let queuedAt: Timestamp
    }
}

/// A subscription as a person asks for it, without its token.
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
