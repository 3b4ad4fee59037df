/// The conversion of another application's messages into events, as a catalogue describes it under `from`.
///
/// It reads values by JSON pointers and computes nothing, so its result depends on the message and the catalogue alone.
package struct MessageMapping: Sendable {
    /// The name, which takes the place of an event type in a message's routing key or properties.
    package let name: EventType
    /// The event types that the mapping can produce.
    package let types: Set<EventType>
    /// The conditions that a message must meet; others are ignored.
    let conditions: [Condition]
    let eventType: MappedValue
    /// The event types by the names in messages; `nil` if messages use the catalogue's names.
    let typesByName: [String: EventType]?
    /// The treatment of messages whose type is unknown.
    let others: OtherTypes
    /// The fields of the event, in the order of the catalogue.
    let fields: [(field: EventField, value: MappedValue)]

    /// A value that decides whether a message is converted.
    struct Condition: Sendable {
        let path: MessagePath
        let accepted: [JSONValue]
    }

    /// The treatment of messages whose type leads to no event type.
    enum OtherTypes: String, CaseIterable, Sendable {
        /// They become dead letters.
        case reject
        /// They are acknowledged without effect.
        case ignore
    }

    /// The result of a conversion.
    enum Conversion {
        case event(EventType, JSONObject)
        case ignored
    }
}

/// One conversion, with the sources of the values that it has used.
struct MessageConversion {
    private let mapping: MessageMapping
    private var message: ForeignMessage
    /// The places of the event's values in the message.
    private var sources: [(target: JSONPointer, source: JSONPointer)] = []
    var name: EventType { mapping.name }
    /// The event type, as soon as it is known.
    private(set) var type: EventType?

    init(_ mapping: MessageMapping, of fields: JSONObject, at base: JSONPointer) {
        self.mapping = mapping
        message = ForeignMessage(fields, at: base)
    }

    /// Converts the message.
    mutating func run() throws(FieldFault) -> MessageMapping.Conversion {
        for condition in mapping.conditions {
            let value = try message.value(at: condition.path) ?? .null
            guard condition.accepted.contains(value) else { return .ignored }
        }
        guard let type = try eventType() else { return .ignored }
        self.type = type
        var event = JSONObject()
        for (field, value) in mapping.fields {
            event[field.rawValue] = try resolve(value, of: field)
        }
        return .event(type, event)
    }

    /// Returns the fault with its place in the message instead of its place in the event.
    func located(_ fault: FieldFault) -> FieldFault {
        let text = fault.pointer.text
        // Of several alternatives, the mapping used the last one that it read.
        let nearest = sources.reversed().filter { text == $0.target.text || text.hasPrefix($0.target.text + "/") }
            .max { $0.target.text.utf8.count < $1.target.text.utf8.count }
        let words = "as \(text.dropFirst()) by from.\(mapping.name): \(fault.message)"
        guard let nearest, let rest = JSONPointer(String(text.dropFirst(nearest.target.text.count))) else {
            return FieldFault(fault.reason, at: message.base, words)
        }
        return FieldFault(fault.reason, at: message.place(nearest.source.appending(rest)), words)
    }

    private mutating func eventType() throws(FieldFault) -> EventType? {
        let target = JSONPointer.root.key(EventField.eventType.rawValue)
        let name = try value(mapping.eventType, .text, at: target)?.string
        let type: EventType? =
            if let table = mapping.typesByName {
                name.flatMap { table[$0] }
            } else {
                name.flatMap(EventType.init(validating:)).flatMap { mapping.types.contains($0) ? $0 : nil }
            }
        if let type { return type }
        guard mapping.others == .reject || name == nil else { return nil }
        let fault = name == nil ? "the message names no event type here" : "this name leads to no event type"
        throw located(FieldFault(.unknownType, at: target, fault))
    }

    private mutating func resolve(_ value: MappedValue, of field: EventField) throws(FieldFault) -> JSONValue? {
        let target = JSONPointer.root.key(field.rawValue)
        guard case .members(let members) = value else {
            let found = try self.value(value, MappedValue.Kind(field), at: target)
            guard found != nil || field != .id else {
                throw located(FieldFault(.missingID, at: target, "an event needs an id"))
            }
            return found
        }
        var object = JSONObject()
        for (name, value) in members {
            let place = target.key(name)
            let found = try self.value(value, MappedValue.Kind(field, name), at: place)
            if found == nil, field == .to {
                throw located(FieldFault(.missingAudience, at: place, "an event needs its audience"))
            }
            object[name] = found
        }
        return .object(object)
    }

    private mutating func value(
        _ value: MappedValue,
        _ kind: MappedValue.Kind,
        at target: JSONPointer
    ) throws(FieldFault) -> JSONValue? {
        switch value {
        case .constant(let constant): return constant
        case .members: return nil
        case .path(let path):
            sources.append((target, path.pointer))
            guard let found = try message.value(at: path) else { return nil }
            return try kind.form(of: found, at: path, in: &message)
        case .instant(let path, let unit):
            sources.append((target, path.pointer))
            guard let found = try message.value(at: path) else { return nil }
            guard let instant = unit.instant(found) else {
                let words = "as \(target.text.dropFirst()) by from.\(mapping.name): expected \(unit.rule)"
                throw FieldFault(.invalidField, at: message.place(path.pointer), words)
            }
            return .string(instant.description)
        case .text(let text):
            sources.append((target, text.firstPath ?? .root))
            switch try text.filled(from: &message) {
            case .success(let words): return .string(words)
            case .failure(let missing):
                let reason: RejectionReason = target.text.hasPrefix("/to/") ? .missingAudience : .invalidField
                let words = "as part of \(target.text.dropFirst()) by from.\(mapping.name): expected a text or a number"
                throw FieldFault(target.text == "/id" ? .missingID : reason, at: message.place(missing.path), words)
            }
        case .first(let alternatives):
            for alternative in alternatives {
                if case .text(let text) = alternative, case .failure = try text.filled(from: &message) { continue }
                if let found = try self.value(alternative, kind, at: target) { return found }
            }
            return nil
        }
    }

    /// Checks that the event, written in Bellhop's own form, can be stored and read again like any other.
    ///
    /// A mapping may repeat a value and may move one to a deeper level.
    func check(_ event: Event) throws(FieldFault) {
        let limits = JSONParser.Limits.event
        let bytes = event.plainForm()
        guard bytes.count <= limits.bytes else {
            let words = "the event by from.\(mapping.name) has \(bytes.count) bytes, the limit is \(limits.bytes)"
            throw FieldFault(.tooLarge, at: message.base, words)
        }
        guard case .failure(let fault) = JSONParser(limits: limits).parse(bytes) else { return }
        throw FieldFault(.invalidField, at: message.base, "the event by from.\(mapping.name): \(fault.message)")
    }
}
