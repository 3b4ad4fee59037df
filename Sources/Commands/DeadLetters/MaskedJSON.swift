import BellhopRules

/// JSON as somebody may see it who has no business with the person behind it: its structure, and what names things.
enum MaskedJSON {
    /// Members of an event, a feed or a letter of ours that say what kind of thing it is and whose, and nothing of what
    /// somebody did or wrote.
    ///
    /// Only where these stand: in data and metadata the same names are a producer's own.
    private static let tellingFields: Set<String> = [
        "app", "channel", "collapseKey", "deliverAt", "environment", "eventType", "expiresAt", "id", "notificationId",
        "notifications", "permission", "platform", "provider", "sentAtIso", "target", "topic", "userId",
    ]

    /// The context attributes of a CloudEvent that say as little.
    private static let tellingAttributes: Set<String> = [
        "datacontenttype", "id", "source", "specversion", "time", "traceparent", "type",
    ]

    private static let audiences: Set<String> = ["user", "users", "topic", "everyone"]

    /// A whole message.
    static func body(_ value: JSONValue) -> JSONValue {
        guard let object = value.object else { return part(value) }
        guard object["specversion"] != nil else { return fields(object) }
        return mapped(object) { name, value in
            if name == "data", let data = value.object { return fields(data) }
            return tellingAttributes.contains(name) ? plain(value) : part(value)
        }
    }

    /// Something inside a message: all of it masked.
    static func part(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null, .bool: value
        case .number, .string: .string(mask(value.string))
        case .array(let values): .array(values.map(part))
        case .object(let object): mapped(object) { part($1) }
        }
    }

    private static func fields(_ object: JSONObject) -> JSONValue {
        mapped(object) { name, value in
            if name == "to", let audience = value.object {
                return mapped(audience) { audiences.contains($0) ? plain($1) : part($1) }
            }
            return tellingFields.contains(name) ? plain(value) : part(value)
        }
    }

    /// As it is, but for objects: nothing that tells is one.
    private static func plain(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object: part(value)
        case .array(let values): .array(values.map(plain))
        case .null, .bool, .number, .string: value
        }
    }

    private static func mapped(_ object: JSONObject, _ change: (String, JSONValue) -> JSONValue) -> JSONValue {
        .object(JSONObject(unique: object.members.map { .init(key: $0.key, value: change($0.key, $0.value)) }))
    }

    /// What stands for a text; nil for a number.
    private static func mask(_ text: String?) -> String {
        text.map { "••• \($0.count.of("character"))" } ?? "•••"
    }

    /// Headers: what the broker writes and the telling attributes of CloudEvents stay, all others are masked.
    static func headers(_ value: JSONValue) -> JSONValue {
        guard let object = value.object else { return part(value) }
        return mapped(object) { isTelling(header: $0.lowercased()) ? $1 : part($1) }
    }

    private static func isTelling(header name: String) -> Bool {
        if let prefix = ["ce-", "ce_", "cloudevents:", "cloudevents_"].first(where: { name.hasPrefix($0) }) {
            return tellingAttributes.contains(String(name.dropFirst(prefix.count)))
        }
        return name == "traceparent" || name == "x-delivery-count" || name.hasPrefix("x-death")
            || name.hasPrefix("x-first-death-") || name.hasPrefix("x-last-death-")
    }
}

/// JSON over several lines, for people.
enum PrettyJSON {
    static func lines(_ value: JSONValue, indentation: String = "") -> [String] {
        switch value {
        case .object(let object) where !object.isEmpty:
            let parts = object.members.map { member in
                (
                    String(decoding: JSONWriter.canonicalBytes(of: .string(member.key)), as: UTF8.self) + ": ",
                    member.value
                )
            }
            return block("{", parts, "}", indentation)
        case .array(let values) where values.contains { $0.object != nil || $0.array != nil }:
            return block("[", values.map { ("", $0) }, "]", indentation)
        default: return [String(decoding: JSONWriter.canonicalBytes(of: value), as: UTF8.self)]
        }
    }

    private static func block(
        _ opening: String,
        _ parts: [(String, JSONValue)],
        _ closing: String,
        _ indentation: String
    ) -> [String] {
        let inner = indentation + "  "
        var result = [opening]
        for (index, part) in parts.enumerated() {
            var lines = lines(part.1, indentation: inner)
            lines[0] = inner + part.0 + lines[0]
            if index < parts.count - 1 { lines[lines.count - 1] += "," }
            result += lines
        }
        return result + [indentation + closing]
    }
}
