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
        switch (value, form) {
        case (.text(let text), _): json.add(foreign: name, text)
        case (.number(let number), .texts): json.add(foreign: name, String(number))
        case (.number(let number), .values): json.add(foreign: name, .number(JSONNumber(Int64(number))))
        case (.yes, .texts): json.add(foreign: name, "true")
        case (.yes, .values): json.add(foreign: name, .bool(true))
        case (.object(let object), .texts): json.add(foreign: name, spelling: object)
        case (.object(let object), .values): json.add(foreign: name, object)
        }
    }
}

extension PushMessage {
    /// The value of a field.
    enum FieldValue {
        case text(String)
        case number(Int)
        case object(CanonicalObject)
        case yes
    }

    var clientNames: ClientNames { presentation.clientNames }

    /// Returns the value of a field; `nil` if the message has none.
    func value(of field: ClientField) -> FieldValue? {
        switch field {
        case .notificationId: .text(notification.text)
        case .type, .eventType: .text(type.text)
        case .route: route.map(FieldValue.text)
        case .targetId: targetID.map(FieldValue.text)
        case .venueId, .venueUnderscored: venueID.map(FieldValue.text)
        case .metadata: metadata.isEmpty ? nil : .object(metadata)
        case .sentAtIso: (sentAt?.inMilliseconds).map(FieldValue.text)
        case .badge: dataBadge.map(FieldValue.number)
        case .digest: digestCount == nil ? nil : .yes
        case .count: digestCount.map(FieldValue.number)
        case .link: (link?.web).map(FieldValue.text)
        case .scheme: (link?.scheme).map(FieldValue.text)
        // The members of this field have separate names.
        case .data: nil
        }
    }

    /// Returns whether the event may not use a name because Bellhop writes a field under it; `names` are the message's
    /// ``clientNames``.
    func isOwnName(_ key: String, _ names: ClientNames) -> Bool {
        key == "dataOmitted" || names.field(named: key).flatMap(value(of:)) != nil
    }

    /// Whether the app requests the event's data.
    var wantsData: Bool { clientNames.name(of: .data) != nil }

    /// Whether a message without the event's data or metadata would lack something.
    var hasOwnData: Bool {
        (wantsData && !data.isEmpty) || (clientNames.name(of: .metadata) != nil && !metadata.isEmpty)
    }

    /// The form of the link for the device's platform.
    private var route: String? { device.platform == .web ? link?.web : link?.mobile }

    /// The badge as a data field; `nil` on Apple's systems, which have a dedicated member for it.
    private var dataBadge: Int? { device.platform == .ios ? nil : shownBadge }
}
