import BellhopRules

/// What Bellhop itself says of a notification to the app that gets it, under the names that every provider gives it or the
/// app's catalogue does.
struct OwnFields {
    /// What a provider carries beside texts.
    enum Form {
        /// Nothing: numbers and flags are written out, objects are JSON.
        case texts
        /// Every kind of value.
        case values
    }

    let message: PushMessage
    let form: Form
    /// Names that stand for something else already.
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
        case (.object(let object), .texts):
            json.add(foreign: name, spelling: object)
        case (.object(let object), .values): json.add(foreign: name, .object(object))
        }
    }
}

extension PushMessage {
    /// What stands in a field.
    enum FieldValue {
        case text(String)
        case number(Int)
        case object(JSONObject)
        case yes
    }

    var clientNames: ClientNames { presentation.clientNames }

    /// Nil where the message has nothing to say there.
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
        // Its members have names of their own.
        case .data: nil
        }
    }

    /// Whether nothing of the event may stand under a name, since Bellhop says something there; `names` are its ``clientNames``.
    func isOwnName(_ key: String, _ names: ClientNames) -> Bool {
        key == "dataOmitted" || names.field(named: key).flatMap(value(of:)) != nil
    }

    /// Whether the app wants what the event brought.
    var wantsData: Bool { clientNames.name(of: .data) != nil }

    /// Whether there is something of the event's own that a message without it lacks.
    var hasOwnData: Bool {
        (wantsData && !data.isEmpty) || (clientNames.name(of: .metadata) != nil && !metadata.isEmpty)
    }

    /// The form of the link that the device's platform understands.
    private var route: String? { device.platform == .web ? link?.web : link?.mobile }

    /// Apple's systems have a place of their own for the number, where they look for it.
    private var dataBadge: Int? { device.platform == .ios ? nil : shownBadge }
}
