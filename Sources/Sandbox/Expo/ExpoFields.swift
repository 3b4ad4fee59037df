import BellhopRules

/// Validates a message against Expo's fields; an unknown name is rejected.
enum ExpoFields {
    private enum Kind {
        case text
        case flag
        case whole
        case number
        case object
        case choice([String])
        /// A name, null, or the object of a critical alert.
        case sound
        /// `{"image": …}`.
        case richContent
        /// One token or several.
        case recipients
    }

    private static let fields: [String: Kind] = [
        "to": .recipients, "title": .text, "subtitle": .text, "body": .text, "data": .object, "sound": .sound,
        "badge": .whole, "ttl": .whole, "expiration": .whole, "priority": .choice(["default", "normal", "high"]),
        "interruptionLevel": .choice(["active", "critical", "passive", "time-sensitive"]), "channelId": .text,
        "icon": .text, "categoryId": .text, "collapseId": .text, "tag": .text, "richContent": .richContent,
        "mutableContent": .flag, "_contentAvailable": .flag, "contentAvailable": .flag, "threadId": .text,
        "targetContentId": .text, "filterCriteria": .text, "relevanceScore": .number,
    ]

    /// Returns the first violation in the service's wording; `nil` if there is none.
    static func violation(in message: JSONObject, at place: String) -> String? {
        guard message["to"] != nil else { return "\"\(place).to\" is required" }
        for member in message.members {
            guard let kind = fields[member.key] else { return "\"\(place).\(member.key)\" is not allowed" }
            if let expected = expectation(member.value, kind) {
                return "\"\(place).\(member.key)\" must be \(expected)"
            }
        }
        return nil
    }

    /// Returns the expected kind of value; `nil` if the value has it.
    private static func expectation(_ value: JSONValue, _ kind: Kind) -> String? {
        switch kind {
        case .text: value.string == nil ? "a string" : nil
        case .flag: value.bool == nil ? "a boolean" : nil
        case .object: value.object == nil ? "an object" : nil
        case .number: value.number?.double == nil ? "a number" : nil
        case .whole: (value.number?.int64).map { $0 >= 0 } ?? false ? nil : "a non-negative integer"
        case .choice(let names):
            value.string.map(names.contains) ?? false ? nil : "one of [\(names.joined(separator: ", "))]"
        case .sound: value == .null || value.string != nil || value.object != nil ? nil : "a string"
        case .richContent:
            value["image"]?.string != nil && value.object?.count == 1 ? nil : "an object with an image"
        case .recipients: recipients(value) == nil ? "a string or an array of strings" : nil
        }
    }

    /// Returns `nil` if the value is neither one token nor several.
    static func recipients(_ value: JSONValue?) -> [String]? {
        if let token = value?.string { return [token] }
        guard let elements = value?.array, !elements.isEmpty else { return nil }
        let tokens = elements.compactMap(\.string)
        return tokens.count == elements.count ? tokens : nil
    }
}
