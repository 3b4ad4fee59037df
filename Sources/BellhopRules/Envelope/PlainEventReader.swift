/// Reads events in their most frequent form, in one pass and without a JSON tree.
///
/// The form is an object of texts with one user in `to`, and with texts, numbers and flags in `data` and `metadata`.
/// Everything else is declined: other members and audiences, CloudEvents, headers, contradictions, and every fault.
/// ``SubmissionParser`` then reads the message from a tree and finds the fault, if there is one. Both give the same event
/// for the same message, and the same notification.
package struct PlainEventReader {
    private let catalogs: CatalogSet

    package init(_ catalogs: CatalogSet) { self.catalogs = catalogs }

    /// Returns the event in the envelope; `nil` if it is declined.
    func event(in envelope: InboundEnvelope) -> Event? {
        let time = envelope.timestamp
        let event = read(envelope) { plain, catalog, type -> Event? in
            guard let id = EventID(validating: plain.id.string), let user = UserID(validating: plain.user.string),
                let content = EventContent(plain), let times = PlainTimes(plain, otherwise: time)
            else { return nil }
            return Event(
                (catalog.app, type.type, id),
                to: user,
                content,
                data: plain.data.isEmpty ? nil : plain.places.canonical(plain.data).bytes,
                sentAt: times.sentAt,
                expiresAt: times.expiresAt
            )
        }
        return event.flatMap { accepts($0.app, $0.type, in: envelope) ? $0 : nil }
    }

    /// Returns the notification of the event in the envelope, with its texts in the app's own language; `nil` if it is
    /// declined.
    ///
    /// `arrival` is the time of an event without a timestamp, and `hash` returns the hash of the event's content.
    package func notification(
        in envelope: InboundEnvelope,
        at arrival: Timestamp,
        hash: (UnsafeBufferPointer<UInt8>) -> PlainNotification.Hash
    ) -> PlainNotification? {
        let time = envelope.timestamp
        let notification = read(envelope) { plain, catalog, type -> PlainNotification? in
            guard IdentifierRules.isPlain(plain.id, longest: EventID.longest),
                let user = UserID(validating: plain.user.string), plain.hasValidContent,
                let times = PlainTimes(plain, otherwise: time), let texts = plain.texts(by: type, in: catalog)
            else { return nil }
            return PlainNotification(
                catalog: catalog,
                type: type,
                user: user,
                content: NotificationContent(
                    type.type,
                    type.priority,
                    texts,
                    expiresAt: times.expiresAt ?? type.expiry(from: times.sentAt ?? arrival),
                    sentAt: times.sentAt
                ),
                contentHash: plain.contentHash(type.type, texts, expiresAt: times.expiresAt, hash),
                origin: PlainOrigin(
                    user: user,
                    hasTitle: plain.title != nil,
                    hasBody: plain.body != nil,
                    hasExpiry: times.expiresAt != nil
                )
            )
        }
        return notification.flatMap { accepts($0.catalog.app, $0.type.type, in: envelope) ? $0 : nil }
    }

    /// Runs `body` on the event in the envelope's body, unless that has another form.
    ///
    /// `body` captures nothing of the envelope, whose copy would count a reference for each of its properties.
    @inline(__always)
    private func read<Result>(
        _ envelope: InboundEnvelope,
        _ body: (PlainEvent, Catalog, CatalogType) -> Result?
    ) -> Result? {
        guard envelope.headers.isEmpty, envelope.publishedBytes == nil, envelope.body.count <= envelope.limit,
            case .plain? = try? ContentForm(envelope.contentType)
        else { return nil }
        var result: Result?
        envelope.body.withUnsafeBufferPointer { text in
            ObjectPlaces.read(text) { places in
                guard let plain = PlainEvent(places), let catalog = catalogs.catalog(named: plain.app),
                    let type = catalog.type(named: plain.eventType)
                else { return }
                result = body(plain, catalog, type)
            }
        }
        return result
    }

    /// Whether the envelope does not contradict the body's names, and no mapping converts messages of this name.
    private func accepts(_ app: AppID, _ type: EventType, in envelope: InboundEnvelope) -> Bool {
        envelope.names(nothingBut: app, type) && !isForeign(app, type)
    }

    /// Whether a mapping converts messages of this name, so that it is another application's message.
    private func isForeign(_ app: AppID, _ type: EventType) -> Bool {
        catalogs.hasMappings && catalogs.mapping(app.text, type.text) != nil
    }
}

/// The times of an event.
private struct PlainTimes {
    var sentAt: Timestamp?
    var expiresAt: Timestamp?

    /// Reads the times; `nil` if one is invalid.
    ///
    /// `seconds` is the message's time, which counts if the event contains none.
    init?(_ plain: PlainEvent, otherwise seconds: UInt64?) {
        if let text = plain.sentAtIso {
            guard let time = Timestamp(reading: text) else { return nil }
            sentAt = time
        } else {
            sentAt = seconds.flatMap(Timestamp.init(seconds:))
        }
        if let text = plain.expiresAt {
            guard let time = Timestamp(reading: text) else { return nil }
            expiresAt = time
        }
    }
}

/// The fields of an event in its most frequent form, as places in its body.
///
/// They are valid only while the body is read.
struct PlainEvent {
    typealias Text = ObjectPlaces.Text

    private(set) var id = Text(start: nil, count: 0)
    private(set) var app = Text(start: nil, count: 0)
    private(set) var eventType = Text(start: nil, count: 0)
    private(set) var user = Text(start: nil, count: 0)
    private(set) var title: Text?
    private(set) var body: Text?
    private(set) var targetID: Text?
    private(set) var venueID: Text?
    private(set) var collapseKey: Text?
    private(set) var sentAtIso: Text?
    private(set) var expiresAt: Text?
    /// The members of `data` and `metadata` among the inner ones of ``places``.
    private(set) var data = 0..<0
    private(set) var metadata = 0..<0
    let places: ObjectPlaces

    /// Sorts the members by their names; `nil` if the event has others.
    ///
    /// A missing field is empty, and the reader declines the event if every event has it.
    init?(_ places: ObjectPlaces) {
        self.places = places
        for member in places.members {
            let isKnown =
                switch member.value {
                case .text(let text): take(text, named: member.key)
                case .object(let range): take(range, named: member.key)
                case .number, .bool: false
                }
            guard isKnown else { return nil }
        }
    }

    private mutating func take(_ text: Text, named key: Text) -> Bool {
        switch key.count {
        case 2 where key.equals("id"): id = text
        case 3 where key.equals("app"): app = text
        case 4 where key.equals("body"): body = text
        case 5 where key.equals("title"): title = text
        case 7 where key.equals("venueId"): venueID = text
        case 8 where key.equals("targetId"): targetID = text
        case 9 where key.equals("eventType"): eventType = text
        case 9 where key.equals("sentAtIso"): sentAtIso = text
        case 9 where key.equals("expiresAt"): expiresAt = text
        case 11 where key.equals("collapseKey"): collapseKey = text
        default: return false
        }
        return true
    }

    private mutating func take(_ range: Range<Int>, named key: Text) -> Bool {
        switch key.count {
        case 2 where key.equals("to"):
            guard range.count == 1, places.inner[range.lowerBound].key.equals("user"),
                case .text(let name) = places.inner[range.lowerBound].value
            else { return false }
            user = name
        case 4 where key.equals("data"): data = range
        case 8 where key.equals("metadata"): metadata = range
        default: return false
        }
        return true
    }
}

extension PlainEvent.Text {
    @inline(__always)
    fileprivate func equals(_ word: StaticString) -> Bool {
        hasSameBytes(as: Self(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    fileprivate func equals(_ text: String) -> Bool { text.withBytes { hasSameBytes(as: $0) } }

    /// Whether the text has at most this number of bytes, and therefore of characters, and at least one.
    fileprivate func isShort(_ longest: Int) -> Bool { (1...longest).contains(count) }

    /// Whether the text is short enough for a reference and has no control characters; those below the space are
    /// declined before.
    fileprivate var isReference: Bool { isShort(FieldLimits.reference) && !contains(0x7F) }
}

extension PlainEvent {
    /// Whether all fields of the content are certainly valid.
    fileprivate var hasValidContent: Bool {
        guard title?.isShort(FieldLimits.title) ?? true, body.map({ $0.count <= FieldLimits.body }) ?? true,
            targetID?.isReference ?? true, venueID?.isReference ?? true, collapseKey?.isReference ?? true
        else { return false }
        for index in metadata where !Self.isMetadata(places.inner[index]) { return false }
        return true
    }

    private static func isMetadata(_ member: ObjectPlaces.Member) -> Bool {
        guard case .text(let text) = member.value else { return false }
        return member.key.isShort(FieldLimits.metadataKey) && text.count <= FieldLimits.metadataValue
    }
}

extension EventContent {
    /// Creates the content of an event; `nil` if a field is not certainly valid.
    fileprivate init?(_ plain: PlainEvent) {
        guard plain.hasValidContent else { return nil }
        self.init(
            title: plain.title?.string,
            body: plain.body?.string,
            data: plain.places.object(plain.data),
            targetID: plain.targetID?.string,
            metadata: plain.places.canonical(plain.metadata),
            venueID: plain.venueID?.string,
            collapseKey: plain.collapseKey?.string
        )
    }
}

extension InboundEnvelope {
    /// Whether routing key and properties name this app and type, or nothing.
    fileprivate func names(nothingBut app: AppID, _ type: EventType) -> Bool {
        if let name = appID, !name.isEmpty, !name.hasSameBytes(as: app.text) { return false }
        if let name = self.type, !name.isEmpty, !name.hasSameBytes(as: type.text) { return false }
        guard case .eventsExchange(let key) = source else { return true }
        return key.withBytes { key in
            let dot = app.text.utf8.count
            guard key.count > dot, key[dot] == UInt8(ascii: ".") else { return false }
            return PlainEvent.Text(rebasing: key[..<dot]).equals(app.text)
                && PlainEvent.Text(rebasing: key[(dot + 1)...]).equals(type.text)
        }
    }
}

extension CatalogSet {
    fileprivate func catalog(named name: PlainEvent.Text) -> Catalog? { catalogs.first { name.equals($0.app.text) } }
}

extension Catalog {
    fileprivate func type(named name: PlainEvent.Text) -> CatalogType? {
        for index in types.indices where name.equals(types[index].type.text) { return types[index] }
        return nil
    }
}
