import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `show`: everything about one item; personal data only on request, which the audit notes.
    func show() async throws -> ExitCode {
        let dossier = try await dossier()
        if words.has("reveal") {
            var filter = DeadLetterFilter()
            filter.ids = [dossier.summary.deadID]
            // Before anything is seen: a look that cannot be written down does not take place.
            try await desk.audit("reveal", filter, items: 1, by: try deskOperator())
        }
        let view = DossierView(dossier, event: try await event(of: dossier), isRevealed: words.has("reveal"), now: now)
        answer(view.json, lines: view.lines)
        return .done
    }

    /// Of a delivery, its notification and its line in the ledger as they stand.
    private func event(of dossier: DeadLetterDossier) async throws -> DossierView.Event? {
        guard let delivery = dossier.summary.delivery else { return nil }
        let key = delivery.notification
        let story = try await StoryBook(pool: pool).story(of: .notification(key.notification), for: key.recipient)
        return DossierView.Event(
            notification: story.record?.notification,
            line: story.lines.first { $0.channel == delivery.channel.rawValue && $0.target == delivery.target }
        )
    }
}
