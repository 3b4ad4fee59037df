package import BellhopRules
import ServiceRuntime
import Settings
package import Store

/// Explains why a user did or did not get a notification.
package struct ExplainOperations: Sendable {
    private let context: OperationsContext

    package init(_ context: OperationsContext) {
        self.context = context
    }

    /// The time limit for each statement.
    private static let patience = Duration.seconds(10)

    var zones: ZoneLibrary { context.zones }

    /// Reads the history of a notification, and evaluates the rules as of now.
    package func explain(
        _ subject: NotificationHistory.Subject,
        for user: UserKey
    ) async throws -> Explanation {
        try await readable { pool, catalogs in
            let story = try await NotificationHistoryStore(pool: pool).story(of: subject, for: user)
            let isMissed = story.record == nil && story.plan?.audience == .everyone
            let isAbsent = story.isUnknown && story.event != nil
            return Explanation(
                story,
                holds: try await OperatorHold.all(on: pool),
                breakers: try await OpenBreaker.all(on: pool),
                everyone: isMissed ? try await EveryoneCount(in: user.app.text, on: pool) : nil,
                silentWorkers: isAbsent ? try await Self.silentWorkers(on: pool) : [],
                catalogs: catalogs,
                zones: zones,
                now: SystemTime().timestamp
            )
        }
    }

    /// Returns the workers without a heartbeat, which may hold events without a trace in the database.
    static func silentWorkers(on pool: ConnectionPool) async throws(StoreError) -> [LiveProcess] {
        try await HeartbeatStore(pool: pool).silent().filter { $0.report.identity.role == "worker" }
    }

    /// Returns the user of a question.
    ///
    /// Without an app it is the user of the only app that has data of a user with this name.
    package func user(of question: ExplainQuestion) async throws -> UserKey {
        if let app = question.app { return UserKey(app: app, user: question.user) }
        let apps = try await readable { pool, _ in
            try await NotificationHistoryStore(pool: pool).apps(of: question.user, atMost: Self.mostApps + 1)
        }
        switch apps.count {
        case 1: return UserKey(app: apps[0], user: question.user)
        case 0:
            throw OperationError.invalid("app", "is missing, and no app has data of user \(question.user)")
        default:
            let names = apps.prefix(Self.mostApps).map(\.text).joined(separator: ", ")
            let others = apps.count > Self.mostApps ? " and others" : ""
            let several = "is missing, and several apps have data of user \(question.user): \(names)\(others)"
            throw OperationError.invalid("app", several)
        }
    }

    /// The limit of the apps that an error names.
    private static let mostApps = 20

    /// Reads with a time limit, and with the catalogues if any are configured and have no fault.
    func readable<Answer>(_ read: (ConnectionPool, CatalogSet?) async throws -> Answer) async throws -> Answer {
        do {
            return try await read(context.pool.with(statementTimeout: Self.patience), context.readableCatalogs)
        } catch {
            throw Self.unavailable(error) ?? error
        }
    }

    /// Returns the error for an unavailable database, or `nil` for any other error.
    private static func unavailable(_ error: any Error) -> OperationError? {
        guard let error = error as? StoreError, error.exitCode == .unavailable else { return nil }
        return OperationError(
            .unavailable,
            attempted: "reading the notification's history",
            error.text(isAct: false),
            advice: "bring the database back (docs/runbooks/database.md), and look again"
        )
    }
}

/// The user, and the notification or event to explain.
package struct ExplainQuestion: Sendable {
    /// `nil` for the only app that has data of the user.
    package let app: AppID?
    package let user: UserID
    /// `nil` for the user's latest notifications.
    package let subject: NotificationHistory.Subject?

    /// Creates the question that the fields define: a user, and at most one notification or event.
    package init(_ fields: OperationFields) throws(OperationError) {
        app = try fields.optional("app", AppID.rule, AppID.init(validating:))
        user = try fields.required("user")
        switch (fields.items.count, fields.text("event")) {
        case (1, nil):
            guard let id = NotificationID(validating: fields.items[0]) else {
                throw .unfit(
                    "expected the whole id of a notification, such as noti_1c0d30af6f555b13, or --event",
                    field: "items"
                )
            }
            subject = .notification(id)
        case (0, .some): subject = .event(try fields.required("event"))
        case (0, nil): subject = nil
        default: throw .unfit("expected at most one notification, or --event and the id of an event", field: "items")
        }
    }
}
