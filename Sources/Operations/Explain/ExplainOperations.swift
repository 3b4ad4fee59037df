import BellhopRules
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

    /// Reads the history of a notification, and evaluates the rules as of now.
    package func explain(_ question: ExplainQuestion) async throws -> Explanation {
        let catalogs = context.configuration.catalogs == nil ? nil : try context.catalogs()
        do {
            return try await explain(question, catalogs)
        } catch {
            throw Self.unavailable(error) ?? error
        }
    }

    private func explain(_ question: ExplainQuestion, _ catalogs: CatalogSet?) async throws -> Explanation {
        let pool = context.pool.with(statementTimeout: Self.patience)
        let story = try await NotificationHistoryStore(pool: pool).story(of: question.subject, for: question.user)
        return Explanation(
            story,
            holds: try await OperatorHold.all(on: pool),
            breakers: try await OpenBreaker.all(on: pool),
            catalogs: catalogs,
            zones: context.zones,
            now: SystemTime().timestamp
        )
    }

    /// Returns the error for an unavailable database, or `nil` for any other error.
    private static func unavailable(_ error: any Error) -> OperationError? {
        guard let error = error as? StoreError, error.exitCode == .unavailable else { return nil }
        return OperationError(
            .unavailable,
            attempted: "reading the notification's history",
            "\(error)",
            advice: "bring the database back; bellhop status shows its state"
        )
    }
}

/// The notification to explain, and its user.
package struct ExplainQuestion: Sendable {
    package let user: UserKey
    package let subject: NotificationHistory.Subject

    /// Creates the question that the fields define: a user, and either a notification or an event.
    package init(_ fields: OperationFields) throws(OperationError) {
        user = UserKey(app: try fields.required("app"), user: try fields.required("user"))
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
        default: throw .unfit("expected one notification, or --event and the id of an event", field: "items")
        }
    }
}
