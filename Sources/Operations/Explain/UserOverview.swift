package import BellhopJSON
package import BellhopRules
import ServiceRuntime
package import Store

/// The latest notifications of a user, each explained, with the user's settings, dead letters and holds.
///
/// It answers why a user got nothing if the event is not known.
package struct UserOverview: Sendable {
    /// The user's settings, devices and erasure.
    package let user: Explanation
    /// The latest notifications, the newest first.
    package let notifications: [Explanation]
    /// The events for the user that are stored for later, the next one first.
    package let kept: [KeptEvent]
    /// The topics that the user follows.
    package let follows: UserFollows
    /// The latest dead letters that name the user, in any state.
    package let deadLetters: [DeadLetterSummary]

    /// The limit of each list.
    static let most = 20

    /// Whether nothing is stored about the user.
    package var isUnknown: Bool {
        let settings = user.story.settings
        return notifications.isEmpty && kept.isEmpty && deadLetters.isEmpty && user.story.erasure == nil
            && user.story.devices.isEmpty && follows.count == 0
            && settings.changedAt == nil && settings.preferencesChangedAt == nil
    }

    /// The answer if nothing is stored about the user, who is probably the user of a misspelt app if its app is unknown.
    package var unknown: String {
        if let sentence = user.unknownApp { return sentence }
        let key = user.story.key.recipient
        return
            "Bellhop has stored nothing about user \(key.user) of \(key.app): no settings, device, topic, notification, "
            + "event for later or dead letter." + (unseen.map { " " + $0 } ?? "")
    }

    /// The silent workers, which may hold events for the user that no list contains; `nil` if there are none.
    package var unseen: String? {
        guard let places = user.silentPlaces else { return nil }
        return "Events may be held by \(places), and are not shown then; other workers get them when it is replaced."
    }

    /// The active holds that may stop the user's deliveries.
    package var holds: [OperatorHold] { user.holds }

    /// Whether the user's quiet hours apply now, and until when; `nil` if they do not apply.
    package var quietUntil: Timestamp? {
        guard let zone = user.clock.zone, let hours = user.quietHours else { return nil }
        return hours.until(user.now, in: zone)
    }

    /// Returns the overview for scripts.
    ///
    /// For a reader who may not see personal data, it contains no texts of notifications.
    package func json(isMasked: Bool) -> JSONValue {
        let key = user.story.key.recipient
        return .members([
            ("found", .bool(!isUnknown)), ("app", .string(key.app.text)), ("user", .string(key.user.text)),
            ("unknownApp", .optional(user.unknownApp)),
            ("unannounced", .optional(user.unannounced)), ("unseen", .optional(unseen)),
            ("at", .string(user.now.description)), ("timezone", .optional(user.clock.zone?.name.text)),
            ("localTime", .optional(user.clock.local(user.now))),
            ("quietUntil", .optional(quietUntil?.description)), ("settings", user.settings),
            ("erasure", user.story.erasure.map(Explanation.json) ?? .null),
            ("holds", .array(holds.map(Self.json))),
            ("notifications", .array(notifications.map { Self.json($0, isMasked: isMasked) })),
            ("kept", .array(kept.map(Self.json))), ("follows", followsJSON),
            ("deadLetters", .array(deadLetters.map(Explanation.json))),
        ])
    }

    private static func json(_ explanation: Explanation, isMasked: Bool) -> JSONValue {
        let record = explanation.story.record
        let content = record?.notification.content
        return .members([
            ("notificationId", .string(explanation.story.key.notification.text)),
            ("eventId", .optional(explanation.story.event?.text)), ("eventType", .optional(content?.type.text)),
            ("priority", .optional(content?.priority.rawValue)),
            ("title", isMasked ? .null : .optional(content?.title)),
            ("recordedAt", .optional(record?.notification.createdAt.description)),
            ("readAt", .optional(record?.readAt?.description)),
            ("deliveries", .array(explanation.story.lines.map(explanation.json))),
        ])
    }

    private var followsJSON: JSONValue {
        let topics = follows.topics.map { one in
            JSONValue.members([
                ("topic", .string(one.topic)), ("muted", .bool(one.follow.isMuted)),
                ("role", .optional(one.follow.role?.text)), ("someDevices", .bool(one.follow.isOfSomeDevices)),
                ("since", .string(one.since.description)),
            ])
        }
        return .members([
            ("count", .int(follows.count)), ("isCapped", .bool(follows.isCapped)), ("topics", .array(topics)),
        ])
    }

    private static func json(_ kept: KeptEvent) -> JSONValue {
        .members([
            ("eventId", .string(kept.event)), ("eventType", .optional(kept.type)),
            ("dueAt", .string(kept.dueAt.description)),
        ])
    }

    private static func json(_ hold: OperatorHold) -> JSONValue {
        .members([
            ("hold", .int(hold.number)), ("type", .optional(hold.scope.type?.text)),
            ("provider", .optional(hold.scope.provider)), ("placedAt", .string(hold.placedAt.description)),
            ("by", .string(hold.operator)), ("because", .string(hold.because)),
        ])
    }
}

extension ExplainOperations {
    /// Reads the latest notifications of a user with everything that affects them.
    package func overview(of user: UserKey) async throws -> UserOverview {
        try await readable { pool, catalogs in
            let store = NotificationHistoryStore(pool: pool)
            let silentWorkers = try await Self.silentWorkers(on: pool)
            let (holds, breakers) = (try await OperatorHold.all(on: pool), try await OpenBreaker.all(on: pool))
            let now = SystemTime().timestamp
            func explained(_ notification: NotificationID) async throws -> Explanation {
                Explanation(
                    try await store.story(of: .notification(notification), for: user),
                    holds: holds,
                    breakers: breakers,
                    silentWorkers: silentWorkers,
                    catalogs: catalogs,
                    zones: zones,
                    now: now
                )
            }
            var notifications: [Explanation] = []
            for id in try await store.latest(of: user, atMost: UserOverview.most) {
                notifications.append(try await explained(id))
            }
            var filter = DeadLetterFilter()
            filter.naming = user
            filter.states = Set(DeadLetterState.allCases)
            return UserOverview(
                // No notification has this id, so that the story contains the user's data only.
                user: try await explained(NotificationID(bits: 0)),
                notifications: notifications,
                kept: try await store.kept(for: user, atMost: UserOverview.most),
                follows: try await store.follows(of: user, atMost: UserOverview.most),
                deadLetters: try await DeadLetterAdmin(pool: pool).page(filter, atMost: UserOverview.most).items
            )
        }
    }
}
