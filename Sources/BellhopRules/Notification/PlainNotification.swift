/// A notification that was read from a plain event, with its texts in the app's own language.
package struct PlainNotification {
    /// The first 16 bytes of a hash.
    package typealias Hash = SIMD2<UInt64>

    package let catalog: Catalog
    package let type: CatalogType
    package let user: UserID
    package let content: NotificationContent
    package let contentHash: Hash
    package let origin: PlainOrigin
}

/// The properties of an event that its notification does not show; with them, the event can be made again.
package struct PlainOrigin: Sendable {
    let user: UserID
    /// Whether the event contains the title and the body, which otherwise come from the catalogue.
    let hasTitle: Bool
    let hasBody: Bool
    /// Whether the event contains the instant from which it is no longer pushed.
    let hasExpiry: Bool
}

extension Event {
    /// Creates the event from which a notification was read.
    package convenience init(_ origin: PlainOrigin, of content: NotificationContent, in app: AppID) {
        let texts = content.texts
        self.init(
            (app, content.type, content.event),
            to: origin.user,
            EventContent(
                title: origin.hasTitle ? texts[.title] : nil,
                body: origin.hasBody ? texts[.body] : nil,
                data: content.data,
                targetID: texts[.targetID],
                metadata: CanonicalObject(content.metadata),
                venueID: texts[.venueID],
                collapseKey: texts[.collapseKey]
            ),
            data: texts.with(.data) { $0.map { Array($0) } },
            sentAt: content.sentAt,
            expiresAt: origin.hasExpiry ? content.expiresAt : nil
        )
    }
}
