/// Reads the mappings of a catalogue file.
struct MessageMappingParser {
    let types: [CatalogType]

    private static let mostMappings = 32
    private static let mostConditions = 8
    private static let mostMembers = 64
    private static let mostNames = 256
    private static let mostAlternatives = 8
    private static let longestPointer = 255

    /// Reads `from`.
    func mappings(_ root: JSONScope) -> [MessageMapping] {
        guard let scope = root.scope("from") else { return [] }
        let members = Self.members(of: root, "from", atMost: Self.mostMappings)
        return members.compactMap { member in
            guard let name = EventType(validating: member.key) else {
                scope.report(member.key, "expected a mapping's name of \(EventType.rule)")
                return nil
            }
            if EventType.isReserved(member.key) || types.contains(where: { $0.type == name }) {
                scope.report(member.key, "a type has this name; choose another one")
            }
            return scope.scope(member.key, required: true).flatMap { mapping(name, $0) }
        }
    }

    private func mapping(_ name: EventType, _ scope: JSONScope) -> MessageMapping? {
        scope.expectKeys(CatalogKeys.mapping)
        let conditions = conditions(scope)
        guard let eventType = value("eventType", scope, required: true) else { return nil }
        let table = names(scope)
        let types = produced(by: eventType, table, scope)
        let others = scope.word("others", as: MessageMapping.OtherTypes.self) ?? .reject
        let fields = EventField.allCases.compactMap { field -> (field: EventField, value: MappedValue)? in
            guard field != .app, field != .eventType else { return nil }
            return self.field(field, scope).map { (field, $0) }
        }
        if scope.object[EventField.to.rawValue] == nil,
            let lacking = self.types.first(where: { types.contains($0.type) && $0.audience == nil })
        {
            scope.report(EventField.to.rawValue, expected: "an audience, because \(lacking.type) has none of its own")
        }
        return MessageMapping(
            name: name,
            types: types,
            conditions: conditions,
            eventType: eventType,
            typesByName: table,
            others: others,
            fields: fields
        )
    }

    // MARK: Types and conditions

    /// Returns the event types to which the mapping can lead.
    private func produced(
        by eventType: MappedValue,
        _ table: [String: EventType]?,
        _ scope: JSONScope
    ) -> Set<EventType> {
        guard case .text(let text) = eventType, let name = text.constant else {
            return Set(table.map { Array($0.values) } ?? types.map(\.type))
        }
        if table != nil { scope.report("types", "cannot be combined with a fixed event type") }
        guard let type = types.first(where: { $0.type.text == name })?.type else {
            scope.report("eventType", expected: "one of the app's types, or a pointer")
            return []
        }
        return [type]
    }

    private func names(_ scope: JSONScope) -> [String: EventType]? {
        guard let table = scope.scope("types") else { return nil }
        if table.object.isEmpty { scope.report("types", expected: "at least one name") }
        var names: [String: EventType] = [:]
        for member in Self.members(of: scope, "types", atMost: Self.mostNames) {
            let type = types.first { $0.type.text == member.value.string }?.type
            if type == nil { table.report(member.key, expected: "one of the app's types") }
            names[member.key] = type
        }
        return names
    }

    private func conditions(_ scope: JSONScope) -> [MessageMapping.Condition] {
        guard let only = scope.scope("only") else { return [] }
        return Self.members(of: scope, "only", atMost: Self.mostConditions).compactMap { member in
            guard let path = Self.path(member.key) else {
                only.report(member.key, "expected \(Self.pointerRule) as the key")
                return nil
            }
            let values = member.value.array ?? [member.value]
            let isRight = !values.isEmpty && values.allSatisfy { $0.object == nil && $0.array == nil }
            guard isRight, values.count <= Self.mostNames else {
                only.report(member.key, expected: "a text, number, boolean or null, or a list of them")
                return nil
            }
            return MessageMapping.Condition(path: path, accepted: values)
        }
    }

    // MARK: Values

    private func field(_ field: EventField, _ scope: JSONScope) -> MappedValue? {
        let key = field.rawValue
        switch field {
        case .app, .eventType: return nil
        case .noEmail where scope.object[key]?.bool != nil: return scope.object[key].map(MappedValue.constant)
        case .to where scope.object[key]?.object != nil: return audience(scope)
        case .data where scope.object[key]?.object != nil, .metadata where scope.object[key]?.object != nil:
            return members(key, scope, known: nil)
        case .route where scope.object[key]?.object.map({ $0["text"] == nil }) ?? false:
            return members(key, scope, known: ["web", "mobile", "scheme"])
        case .sentAtIso, .deliverAt, .expiresAt: return value(key, scope, mayBeNumber: true)
        case .id, .to, .title, .body, .data, .route, .targetId, .metadata, .venueId, .imageUrl, .collapseKey, .noEmail:
            return value(key, scope)
        }
    }

    private func audience(_ scope: JSONScope) -> MappedValue? {
        let key = EventField.to.rawValue
        guard let to = scope.scope(key) else { return nil }
        to.expectKeys(Audience.Key.allCases.map(\.rawValue))
        guard to.object.count == 1 else {
            scope.report(key, expected: "exactly one of user, users, topic and everyone")
            return nil
        }
        let everyone = Audience.Key.everyone.rawValue
        guard let fixed = to.object[everyone] else { return members(key, scope, known: nil) }
        guard fixed == .bool(true) else {
            to.report(everyone, expected: "true")
            return nil
        }
        return .members([(everyone, .constant(fixed))])
    }

    private func members(_ key: String, _ scope: JSONScope, known: [String]?) -> MappedValue? {
        guard let inner = scope.scope(key) else { return nil }
        if inner.object.isEmpty { scope.report(key, expected: "at least one member") }
        if let known { inner.expectKeys(known) }
        return .members(
            Self.members(of: scope, key, atMost: Self.mostMembers).compactMap { member in
                value(member.key, inner, mayBeNumber: key == EventField.data.rawValue).map { (member.key, $0) }
            }
        )
    }

    private func value(
        _ key: String,
        _ scope: JSONScope,
        required: Bool = false,
        mayBeNumber: Bool = false
    ) -> MappedValue? {
        let rule = Self.pointerRule + ", {text: …}" + (mayBeNumber ? ", {at: …, unit: …}" : "") + " or a list of them"
        return scope.value(key, rule, required: required) { value in
            guard case .array(let elements) = value else { return Self.single(value, mayBeNumber) }
            let values = elements.compactMap { Self.single($0, mayBeNumber) }
            guard values.count == elements.count, (1...Self.mostAlternatives).contains(values.count) else { return nil }
            return .first(values)
        }
    }

    private static func single(_ value: JSONValue, _ mayBeNumber: Bool) -> MappedValue? {
        switch value {
        case .string(let text): return path(text).map(MappedValue.path)
        case .object(let object) where object.count == 1:
            return object["text"]?.string.flatMap(MappedText.init).map(MappedValue.text)
        case .object(let object) where mayBeNumber && object.count == 2:
            guard let path = object["at"]?.string.flatMap(path),
                let unit = object["unit"]?.string.flatMap(InstantUnit.init(rawValue:))
            else { return nil }
            return .instant(path, unit)
        default: return nil
        }
    }

    private static func path(_ text: String) -> MessagePath? {
        guard IdentifierRules.isPlain(text, longest: longestPointer) || text.isEmpty else { return nil }
        return JSONPointer(text).map(MessagePath.init)
    }

    private static let pointerRule = "a JSON pointer such as /payload/id"

    /// Returns the members of an object, and reports an object with too many.
    private static func members(of scope: JSONScope, _ key: String, atMost most: Int) -> [JSONObject.Member] {
        let members = scope.object[key]?.object?.members ?? []
        if members.count > most { scope.report(key, "expected at most \(most) members") }
        return Array(members.prefix(most))
    }
}
