import BellhopRules
import Store

/// An event with the texts of its app's catalogue.
struct RenderedEvent: Sendable {
    let event: Event
    private let catalog: Catalog
    private let type: CatalogType
    private let rendered: RenderedContent
    private let expiresAt: Timestamp?

    /// Renders an event.
    ///
    /// It is rejected if the catalogue does not contain its type or cannot render it. `arrival` is the time of an event
    /// without a timestamp.
    static func read(
        _ event: Event,
        _ catalogs: CatalogSet,
        at arrival: Timestamp
    ) -> Result<RenderedEvent, Rejection> {
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
            RenderedEvent(
                event: event,
                catalog: catalog,
                type: type,
                rendered: rendered,
                expiresAt: type.expiry(of: event, arrival: arrival)
            )
        }
    }

    /// The event in its stored form, for later or for a wide audience.
    var plan: PlannedEvent {
        PlannedEvent(
            event: event,
            contentHash: ContentHash(of: event),
            priority: type.priority,
            expiresAt: expiresAt
        )
    }

    /// Returns the notification's content, which all its users share.
    func words(_ hash: ContentHash) -> NotificationText {
        NotificationText(
            event: event,
            contentHash: hash,
            rendered: rendered,
            type: type,
            in: catalog,
            expiresAt: expiresAt
        )
    }
}
