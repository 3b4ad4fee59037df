import BellhopRules

/// JSON as somebody may see it who has no business with the person behind it: its structure, and what names things.
enum MaskedJSON {
    /// Members whose values say what kind of thing it is, and nothing of what somebody did or wrote.
    private static let telling: Set<String> = [
        "app", "collapseKey", "channel", "datacontenttype", "deliverAt", "environment", "eventType", "everyone",
        "expiresAt", "id", "notificationId", "notifications", "permission", "platform", "provider", "sentAtIso",
        "source",
        "specversion", "target", "time", "to", "topic", "type", "user", "userId", "users",
    ]

    static func body(_ value: JSONValue) -> JSONValue {
        mask(value, isTelling: false)
    }

    private static func mask(_ value: JSONValue, isTelling: Bool) -> JSONValue {
        switch value {
        case .null, .bool: return value
        case .number, .string: return isTelling ? value : .string(mask(value.string))
        case .array(let values): return .array(values.map { mask($0, isTelling: isTelling) })
        case .object(let object):
            let members = object.members.map { member in
                (member.key, mask(member.value, isTelling: telling.contains(member.key)))
            }
            return .object(JSONObject(members))
        }
    }

    /// What stands for a text; nil for a number.
    private static func mask(_ text: String?) -> String {
        text.map { "••• \($0.count.of("character"))" } ?? "•••"
    }

    /// Headers: what the broker writes and what CloudEvents names stays, the producer's own are masked.
    static func headers(_ value: JSONValue) -> JSONValue {
        guard let object = value.object else { return mask(value, isTelling: false) }
        let members = object.members.map { member in
            (
                member.key,
                isTelling(header: member.key.lowercased()) ? member.value : mask(member.value, isTelling: false)
            )
        }
        return .object(JSONObject(members))
    }

    private static func isTelling(header name: String) -> Bool {
        let isCloudEvent = ["ce-", "ce_", "cloudevents:", "cloudevents_"].contains { name.hasPrefix($0) }
        if isCloudEvent { return !name.hasSuffix("subject") }
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
