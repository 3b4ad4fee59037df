import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `show`: everything about one item; personal data only on request, which the audit notes.
    func show() async throws -> ExitCode {
        let detail = try await detail()
        if words.has("reveal") {
            var filter = DeadLetterFilter()
            filter.ids = [detail.summary.deadID]
            // Before anything is seen: a look that cannot be written down does not take place.
            try await desk.audit("reveal", filter, items: 1, by: try deskOperator())
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

    /// Of an id that was used before, where what is stored under it differs from what came later.
    private func conflict(of detail: DeadLetterDetail) async throws -> [JSONEdits.Difference] {
        let cause = detail.summary.cause
        guard cause.reason == RejectionReason.idConflict.rawValue,
            let app = cause.app.flatMap(AppID.init(validating:)),
            let user = cause.user.flatMap(UserID.init(validating:)),
            let event = cause.eventID.flatMap(EventID.init(validating:)),
            let later = try? JSONParser().parse(detail.origin.body).get().object
        else { return [] }
        let key = RecipientKey(app: app, user: user)
        let story = try await StoryBook(pool: pool).story(of: .event(event), for: key)
        guard let stored = story.record?.notification.content else { return [] }
        let before: [(String, JSONValue)] = [
            ("title", .string(stored.title)), ("body", .string(stored.body)), ("data", .object(stored.data)),
        ]
        // What the catalogue's template says in the producer's place is no difference of the producer's.
        return before.filter { later[$0.0] != nil }.flatMap { name, value in
            JSONEdits.differences(value, later[name], at: JSONPointer.root.key(name))
        }
    }

    /// Of a delivery, its notification and its line in the ledger as they stand.
    private func event(of detail: DeadLetterDetail) async throws -> DeadLetterDetailView.Event? {
        guard let delivery = detail.summary.delivery else { return nil }
        let key = delivery.notification
        let story = try await StoryBook(pool: pool).story(of: .notification(key.notification), for: key.recipient)
        return DeadLetterDetailView.Event(
            notification: story.record?.notification,
            line: story.lines.first { $0.channel == delivery.channel.rawValue && $0.target == delivery.target }
        )
    }
}
