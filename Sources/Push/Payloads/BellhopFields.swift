import BellhopRules

/// Bellhop's fields of a notification for the app, under the names of the app's catalogue or under the usual ones.
struct BellhopFields {
    /// The kinds of values that a provider transports.
    enum Form {
        /// Only texts: numbers and flags are written as texts, objects as JSON.
        case texts
        /// Every kind of value.
        case values
    }

    let message: PushMessage
    let form: Form
    /// The names that other members already use.
    var taken: [String] = []

    func write(into json: inout JSONBytes, withMetadata: Bool = true) {
        let names = message.clientNames
        for field in Self.order {
            if field == .metadata, !withMetadata { continue }
            guard let value = message.value(of: field), let name = names.name(of: field),
                !taken.contains(name)
            else { continue }
            write(value, as: name, into: &json)
        }
    }

    private static let order = ClientField.allCases

    private func write(_ value: PushMessage.FieldValue, as name: String, into json: inout JSONBytes) {
        let texts = message.texts
        switch (value, form) {
        case (.text(let text), _): json.add(foreign: name, text)
        case (.field(let field), _): json.add(foreign: name, field, of: texts)
        case (.number(let number), .texts): json.add(foreign: name, String(number))
        case (.number(let number), .values): json.add(foreign: name, number)
        case (.yes, .texts): json.add(foreign: name, "true")
        case (.yes, .values): json.add(foreign: name, true)
        case (.object(let field), .texts): json.add(foreign: name, field, of: texts)
        case (.object(let field), .values): json.add(foreign: name, json: field, of: texts)
        }
    }
}

extension PushMessage {
    /// The value of a field.
    enum FieldValue {
        case text(String)
        /// A text of the notification.
        case field(NotificationTexts.Field)
        case number(Int)
        /// An object of the notification.
        case object(NotificationTexts.Field)
        case yes
    }

    /// Returns the value of a field; `nil` if the message has none.
    func value(of field: ClientField) -> FieldValue? {
        switch field {
        case .notificationId: .text(notification.text)
        case .type, .eventType: .text(type.text)
        case .route: text(routeField)
        case .targetId: text(.targetID)
        case .venueId, .venueUnderscored: text(.venueID)
        case .metadata: texts.has(.metadata) ? .object(.metadata) : nil
        case .sentAtIso: (sentAt?.inMilliseconds).map(FieldValue.text)
        case .badge: dataBadge.map(FieldValue.number)
        case .digest: digestCount == nil ? nil : .yes
        case .count: digestCount.map(FieldValue.number)
        case .link: text(.webLink)
        case .scheme: text(.schemeLink)
        // The members of this field have separate names.
        case .data: nil
        }
    }

    private func text(_ field: NotificationTexts.Field) -> FieldValue? { texts.has(field) ? .field(field) : nil }

    /// Returns whether the event may not use a name because Bellhop writes a field under it; `names` are the message's
    /// ``clientNames``.
    func isOwnName(_ key: UnsafeBufferPointer<UInt8>, _ names: ClientNames) -> Bool {
        key.hasSameBytes(as: Self.omission) || names.field(named: key).flatMap(value(of:)) != nil
    }

    /// The name of the mark that the event's data were left out.
    private static var omission: UnsafeBufferPointer<UInt8> {
        let name: StaticString = "dataOmitted"
        return UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    }

    /// Whether the app requests the event's data.
    var wantsData: Bool { clientNames.name(of: .data) != nil }

    /// Whether a message without the event's data or metadata would lack something.
    var hasOwnData: Bool {
        (wantsData && texts.has(.data)) || (clientNames.name(of: .metadata) != nil && texts.has(.metadata))
    }

    /// The form of the link for the device's platform.
    private var routeField: NotificationTexts.Field { platform == .web ? .webLink : .mobileLink }

    /// The badge as a data field; `nil` on Apple's systems, which have a dedicated member for it.
    private var dataBadge: Int? { platform == .ios ? nil : shownBadge }
}
