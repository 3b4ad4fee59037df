/// The texts of a notification, written from the places of its event's fields.
extension PlainEvent {
    /// Returns the texts in the app's own language; `nil` if a template lacks a value or a text is too long.
    func texts(by type: CatalogType, in catalog: Catalog) -> NotificationTexts? {
        var texts = NotificationTexts.Builder()
        guard write(type, catalog, to: &texts) else { return nil }
        texts.set(.event, id)
        texts.set(.targetID, targetID)
        texts.set(.venueID, venueID)
        texts.set(.collapseKey, collapseKey)
        write(data, as: .data, to: &texts)
        write(metadata, as: .metadata, to: &texts)
        return texts.finished()
    }

    /// Writes title, body and link.
    private func write(
        _ type: CatalogType,
        _ catalog: Catalog,
        to texts: inout NotificationTexts.Builder
    ) -> Bool {
        var renderer = TemplateRenderer(self)
        let place = type.words.place(for: nil, otherwise: catalog.language)
        if let title {
            texts.set(.title, title)
        } else {
            guard let place else { return false }
            renderer.write(type.words.all[place].title, as: .title, to: &texts)
        }
        if let body {
            texts.set(.body, body)
        } else if let place, let template = type.words.all[place].body {
            renderer.write(template, as: .body, to: &texts)
        } else {
            texts.set(.body, "")
        }
        guard renderer.faults.isEmpty, (1...FieldLimits.title).contains(texts.byteCount(of: .title)),
            texts.byteCount(of: .body) <= FieldLimits.body
        else { return false }
        let hasOwnLink = type.link.map { renderer.write($0, to: &texts) } ?? false
        if !hasOwnLink, let link = catalog.link { _ = renderer.write(link, to: &texts) }
        return true
    }

    private func write(
        _ members: Range<Int>,
        as field: NotificationTexts.Field,
        to texts: inout NotificationTexts.Builder
    ) {
        guard !members.isEmpty else { return }
        JSONBuffer.withScratch { json in
            places.write(members, into: &json)
            json.withBytes { texts.set(field, $0) }
        }
    }

    /// Returns the hash of the event's identity, whose bytes are those of ``Event/withContentBytes(_:)``.
    func contentHash(
        _ type: EventType,
        _ texts: NotificationTexts,
        expiresAt: Timestamp?,
        _ hash: (UnsafeBufferPointer<UInt8>) -> PlainNotification.Hash
    ) -> PlainNotification.Hash {
        JSONBuffer.withScratch { json in
            json.append(UInt8(ascii: "{"))
            json.write("body", self.body)
            json.write("collapseKey", collapseKey)
            json.write("data", json: .data, of: texts)
            if let expiresAt {
                json.begin("expiresAt")
                json.append(expiresAt.microseconds)
            }
            json.write("metadata", json: .metadata, of: texts)
            json.write("targetId", targetID)
            json.write("title", title)
            json.begin("type")
            json.append(type.text)
            json.write("venueId", venueID)
            json.append(UInt8(ascii: "}"))
            return json.withBytes(hash)
        }
    }
}

/// Functions that write a member unless its value is absent.
extension JSONBuffer {
    fileprivate mutating func write(_ key: StaticString, _ text: PlainEvent.Text?) {
        guard let text else { return }
        begin(key)
        append(quoting: text)
    }

    fileprivate mutating func write(
        _ key: StaticString,
        json field: NotificationTexts.Field,
        of texts: NotificationTexts
    ) {
        texts.with(field) { json in
            guard let json else { return }
            begin(key)
            append(json)
        }
    }
}

/// The values for templates.
extension PlainEvent: PlaceholderValues {
    func value(of source: ValueSource) -> JSONValue? { place(of: source)?.json }

    func append(_ source: ValueSource, to text: inout [UInt8], _ quoting: Template.Quoting) -> Bool {
        switch place(of: source) {
        case .text(let word)? where !word.isEmpty: quoting.append(word, to: &text)
        case .number(let number)?: quoting.append(number, to: &text)
        default: return false
        }
        return true
    }

    /// Returns the place of a value; members of inner objects are on no level that a plain event has.
    private func place(of source: ValueSource) -> ObjectPlaces.Value? {
        switch source {
        case .targetID: return targetID.map(ObjectPlaces.Value.text)
        case .venueID: return venueID.map(ObjectPlaces.Value.text)
        case .data(let path):
            guard path.count == 1 else { return nil }
            return path[0].withBytes { name in
                for index in data where places.inner[index].key.hasSameBytes(as: name) {
                    return places.inner[index].value
                }
                return nil
            }
        }
    }
}
