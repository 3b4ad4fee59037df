import BellhopRules
import Store

/// An event in the words of its app's catalogue.
struct WordedEvent: Sendable {
    let event: Event
    private let type: CatalogType
    private let rendered: RenderedContent
    private let expiresAt: Timestamp?

    /// A rejection where the catalogue does not know the event's type, or cannot word it; `arrival` stands for the time of
    /// what does not say when it was sent.
    static func read(
        _ event: Event,
        _ catalogs: CatalogSet,
        at arrival: Timestamp
    ) -> Result<WordedEvent, Rejection> {
        guard let catalog = catalogs[event.app], let type = catalog[event.type] else {
            return .failure(
                Rejection(
                    reason: .unknownType,
                    pointer: JSONPointer.root.key("eventType"),
                    message: "the app's catalogue does not know this type",
                    event: event
                )
            )
        }
        if let rejection = event.refusal(at: arrival) { return .failure(rejection) }
        return catalog.render(event, language: nil).map { rendered in
            WordedEvent(
                event: event,
                type: type,
                rendered: rendered,
                expiresAt: type.expiry(of: event, arrival: arrival)
            )
        }
    }

    /// To be kept for later, or for a wider audience.
    var plan: PlannedEvent {
        PlannedEvent(
            event: event,
            contentHash: ContentHash(of: event),
            priority: type.priority,
            expiresAt: expiresAt
        )
    }

    /// What it says to each of its users.
    func words(_ hash: ContentHash) -> InboxWords {
        InboxWords(
            event: event,
            contentHash: hash,
            rendered: rendered,
            priority: type.priority,
            expiresAt: expiresAt
        )
    }
}
