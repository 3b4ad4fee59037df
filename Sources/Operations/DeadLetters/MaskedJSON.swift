package import BellhopJSON
import ServiceRuntime

/// Masks personal data in JSON.
///
/// It keeps the structure and the members that identify things.
package enum MaskedJSON {
    /// Members of events, feed messages and internal messages that identify a kind or an owner, and that contain
    /// nothing that a user did or wrote.
    ///
    /// They are shown only at the message's top level. In data and metadata the same names belong to the producer.
    private static let tellingFields: Set<String> = [
        "app", "channel", "collapseKey", "deliverAt", "environment", "eventType", "expiresAt", "id", "notificationId",
        "notifications", "permission", "platform", "provider", "sentAtIso", "target", "topic", "userId",
    ]

    /// The context attributes of a CloudEvent that contain no personal data either.
    private static let tellingAttributes: Set<String> = [
        "datacontenttype", "id", "source", "specversion", "time", "traceparent", "type",
    ]

    private static let audiences: Set<String> = ["user", "users", "topic", "everyone"]

    /// Masks a whole message.
    package static func body(_ value: JSONValue) -> JSONValue {
        guard let object = value.object else { return part(value) }
        guard object["specversion"] != nil else { return fields(object) }
        return mapped(object) { name, value in
            if name == "data", let data = value.object { return fields(data) }
            return tellingAttributes.contains(name) ? plain(value) : part(value)
        }
    }

    /// Masks a part of a message completely.
    package static func part(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null, .bool: value
        case .number, .string: .string(mask(value.string))
        case .array(let values): .array(values.map(part))
        case .object(let object): mapped(object) { part($1) }
        }
    }

    // MARK: - Audit

    /// The members whose values the audit of an edit keeps.
    ///
    /// It is never deleted, and viewers of the console see it, so that values that name a user are not among them.
    private static let keptFields = tellingFields.subtracting(["notificationId", "notifications", "target", "userId"])

    private static let keptAudiences: Set<String> = ["topic", "everyone"]

    /// Masks a value that an edit puts at a place of a body, for the audit.
    static func kept(_ value: JSONValue, at place: JSONPointer) -> JSONValue {
        let steps = place.steps
        switch (steps.first, steps.count, value) {
        case (nil, _, .object(let object)): return mapped(object) { kept($1, at: JSONPointer.root.key($0)) }
        case ("to"?, 1, .object(let audience)):
            return mapped(audience) { keptAudiences.contains($0) ? plain($1) : part($1) }
        case ("to"?, 2, _): return keptAudiences.contains(steps[1]) ? plain(value) : part(value)
        case (let field?, 1, _): return keptFields.contains(field) ? plain(value) : part(value)
        default: return part(value)
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

    /// Returns the value unchanged, but masks objects, since no identifying member is an object.
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

    /// Returns the replacement for a text, or for a number if `text` is `nil`.
    private static func mask(_ text: String?) -> String {
        text.map { "••• \($0.count.of("character"))" } ?? "•••"
    }

    /// Masks headers, except the broker's own and the identifying attributes of CloudEvents.
    package static func headers(_ value: JSONValue) -> JSONValue {
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
