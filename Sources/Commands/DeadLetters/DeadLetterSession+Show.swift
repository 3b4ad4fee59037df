import BellhopRules
import ServiceRuntime
import Store

extension DeadLetterSession {
    /// Performs `show`: it prints one item with all details.
    ///
    /// Personal data is shown only on request, which is recorded in the audit.
    func show() async throws -> ExitCode {
        let detail = try await detail()
        if words.has("reveal") {
            var filter = DeadLetterFilter()
            filter.ids = [detail.summary.deadID]
            // Before anything is shown, since a reveal that cannot be audited must not take place.
            try await desk.audit("reveal", filter, items: 1, by: try actingOperator())
        }
        let view = DeadLetterDetailView(
            detail,
            event: try await event(of: detail),
            conflict: try await conflict(of: detail),
            isRevealed: words.has("reveal"),
            now: now
        )
        answer(view.json, lines: view.lines)
        return .done
    }

    /// Returns the differences between the stored event and a later one with the same id.
    private func conflict(of detail: DeadLetterDetail) async throws -> [JSONEdits.Difference] {
        let cause = detail.summary.cause
        guard cause.reason == RejectionReason.idConflict.rawValue,
            let app = cause.app.flatMap(AppID.init(validating:)),
            let user = cause.user.flatMap(UserID.init(validating:)),
            let event = cause.eventID.flatMap(EventID.init(validating:)),
            let later = try? JSONParser().parse(detail.origin.body).get().object
        else { return [] }
        let key = UserKey(app: app, user: user)
        let story = try await NotificationHistoryStore(pool: pool).story(of: .event(event), for: key)
        guard let stored = story.record?.notification.content else { return [] }
        let before: [(String, JSONValue)] = [
            ("title", .string(stored.title)), ("body", .string(stored.body)), ("data", .object(stored.data)),
        ]
        // A text from the catalogue's template, in place of a text that the producer left out, does not count as a
        // difference.
        return before.filter { later[$0.0] != nil }.flatMap { name, value in
            JSONEdits.differences(value, later[name], at: JSONPointer.root.key(name))
        }
    }

    /// Returns the notification and the ledger row of a delivery, in their present state.
    private func event(of detail: DeadLetterDetail) async throws -> DeadLetterDetailView.Event? {
        guard let delivery = detail.summary.delivery else { return nil }
        let key = delivery.notification
        let story = try await NotificationHistoryStore(pool: pool).story(
            of: .notification(key.notification),
            for: key.recipient
        )
        return DeadLetterDetailView.Event(
            notification: story.record?.notification,
            line: story.lines.first { $0.channel == delivery.channel.rawValue && $0.target == delivery.target }
        )
    }
}
