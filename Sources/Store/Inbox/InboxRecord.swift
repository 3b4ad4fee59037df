package import BellhopRules

/// The content of one event in one language.
///
/// It is created once, and the records of all its users share it.
package final class NotificationText: Sendable {
    package let app: AppID
    /// The catalogue by which it was rendered.
    package let catalog: Catalog
    package let type: CatalogType
    package let content: NotificationContent
    let contentHash: ContentHash
    /// JSON text with the fields that only a push needs.
    let extras: [UInt8]?
    private let source: Source
    /// The route that the event named, if the catalogue has redirected it.
    package let reroutedFrom: String?

    /// The event from which the content was made.
    private enum Source: Sendable {
        case event(Event)
        /// A plain event, which is made again when it is needed.
        case plain(PlainOrigin)
    }

    /// Creates the content for users of one language.
    ///
    /// Nothing of it is pushed from `expiresAt` on.
    package init(
        event: Event,
        contentHash: ContentHash,
        rendered: RenderedContent,
        type: CatalogType,
        in catalog: Catalog,
        expiresAt: Timestamp?
    ) {
        app = event.app
        self.catalog = catalog
        self.type = type
        content = NotificationContent(event: event, rendered: rendered, priority: type.priority, expiresAt: expiresAt)
        source = .event(event)
        reroutedFrom = rendered.reroutedFrom
        self.contentHash = contentHash
        extras = NotificationExtras(of: content).json
    }

    /// Creates the content of a plain event.
    package init(_ plain: PlainNotification) {
        app = plain.catalog.app
        catalog = plain.catalog
        type = plain.type
        content = plain.content
        contentHash = ContentHash(plain.contentHash)
        source = .plain(plain.origin)
        reroutedFrom = nil
        extras = NotificationExtras(of: content).json
    }

    /// The event from which the content was made.
    package var event: Event {
        switch source {
        case .event(let event): event
        case .plain(let origin): Event(origin, of: content, in: app)
        }
    }

    /// The source timestamp; `nil` if absent.
    var saidAt: Timestamp? { content.sentAt }
    /// The approximate size in bytes of one record with this content, as a statement parameter.
    package var bytes: Int { content.texts.byteCount + (extras?.count ?? 0) }
}

extension NotificationText {
    /// Returns the content for users of another language.
    package func translated(_ rendered: RenderedContent) -> NotificationText {
        NotificationText(
            event: event,
            contentHash: contentHash,
            rendered: rendered,
            type: type,
            in: catalog,
            expiresAt: content.expiresAt
        )
    }
}

/// A notification that is about to be written, for one user and one event.
///
/// It is an object because it passes from step to step, and each copy would count references to all of its parts.
package final class InboxRecord: Sendable {
    package let key: NotificationKey
    package let words: NotificationText
    /// The initial deliveries of the notification.
    package let deliveries: [NewDelivery]
    /// The user's follow of the event's topic; `nil` if the event was for named users or for everyone.
    package let follow: StoredFollow?
    /// The position in the batch: the inbox keeps the order of arrival.
    package let position: Int

    package init(
        _ words: NotificationText,
        for user: UserID,
        follow: StoredFollow? = nil,
        position: Int = 0,
        deliveries: [NewDelivery] = []
    ) {
        self.words = words
        self.deliveries = deliveries
        self.follow = follow
        self.position = position
        key = NotificationKey(
            recipient: UserKey(app: words.app, user: user),
            notification: NotificationID(app: words.app, eventOf: words.content, user: user)
        )
    }

    /// Creates a record from another one of the same notification.
    package init(
        _ record: InboxRecord,
        of recipient: UserKey,
        words: NotificationText? = nil,
        deliveries: [NewDelivery]? = nil
    ) {
        key = NotificationKey(recipient: recipient, notification: record.key.notification)
        self.words = words ?? record.words
        self.deliveries = deliveries ?? record.deliveries
        follow = record.follow
        position = record.position
    }

    /// Returns the same record under the user's number.
    func numbered(_ number: PersonNumber?) -> InboxRecord {
        var recipient = key.recipient
        recipient.number = number
        return InboxRecord(self, of: recipient)
    }

    package var app: AppID { words.app }
    package var user: UserID { key.recipient.user }
    package var id: NotificationID { key.notification }
}
