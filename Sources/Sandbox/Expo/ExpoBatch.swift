import BellhopRules

/// The messages of a well-formed request, one for each recipient.
struct ExpoBatch: Sendable {
    /// One message to one recipient.
    struct Message: Sendable {
        let token: String
        let content: JSONObject

        /// The tag by which the device recognises a repeat.
        var tag: String? { content["tag"]?.string ?? content["collapseId"]?.string }

        /// The size of the message in bytes, without the address.
        var byteCount: Int {
            var content = content
            content["to"] = nil
            return JSONWriter.canonicalBytes(of: .object(content)).count
        }
    }

    let messages: [Message]
    /// Whether the request was a single object, which is answered with one ticket instead of an array.
    let isSingle: Bool

    static let limit = 100

    static func read(_ body: JSONValue) -> Result<ExpoBatch, ExpoError> {
        let isSingle = body.object != nil
        let elements = body.array ?? [body]
        guard !elements.isEmpty else { return .failure(.invalid("\"value\" must have a message")) }
        var messages: [Message] = []
        for (index, element) in elements.enumerated() {
            guard let object = element.object else {
                return .failure(.invalid("\"[\(index)]\" must be an object"))
            }
            if let violation = ExpoFields.violation(in: object, at: "[\(index)]") {
                return .failure(.invalid(violation))
            }
            for token in ExpoFields.recipients(object["to"]) ?? [] {
                messages.append(Message(token: token, content: object))
            }
        }
        guard messages.count <= limit else { return .failure(.tooManyNotifications) }
        let tokens = messages.compactMap { ExpoToken($0.token) }
        let projects = Dictionary(grouping: tokens, by: \.project).mapValues { $0.map(\.text) }
        guard projects.count < 2 else { return .failure(.mixed(projects)) }
        return .success(ExpoBatch(messages: messages, isSingle: isSingle))
    }
}

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
