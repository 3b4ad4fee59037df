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
            isRevealed: words.has("reveal"),
            now: now
        )
        answer(view.json, lines: view.lines)
        return .done
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
