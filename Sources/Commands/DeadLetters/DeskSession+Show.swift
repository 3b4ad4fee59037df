import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `show`: everything about one item; personal data only on request, which the audit notes.
    func show() async throws -> ExitCode {
        guard operands.count == 1 else {
            throw CommandFailure.usage(of: DeadLettersCommand.name, "show takes one item; list has their names")
        }
        let id = try await item(operands[0])
        if words.has("reveal") {
            var filter = DeadLetterFilter()
            filter.ids = [id]
            // Before anything is seen: a look that cannot be written down does not take place.
            try await desk.audit("reveal", filter, items: 1, by: try deskOperator())
        }
        guard let dossier = try await desk.dossier(id) else {
            throw failure(.answerIsNo, "it was deleted at this moment", "look again", id)
        }
        let view = DossierView(dossier, event: try await event(of: dossier), isRevealed: words.has("reveal"), now: now)
        if isJSON { print(view.json.description) } else { view.lines.forEach(print) }
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
