import BellhopRules
import Foundation

/// Evaluates JSON Schema 2020-12, limited to the keywords that the schemas in `docs/` use.
///
/// Any other keyword is an error, so that no part of a schema is without effect here.
struct SchemaEvaluator {
    struct UnknownKeyword: Error {
        let keyword: String
    }

    struct BrokenReference: Error {
        let reference: String
    }

    let root: JSONValue

    func accepts(_ value: JSONValue) throws -> Bool {
        try accepts(value, schema: root)
    }

    func accepts(_ value: JSONValue, schema: JSONValue) throws -> Bool {
        for member in schema.object?.members ?? [] {
            let isRight =
                switch member.key {
                case "additionalProperties": try accepts(others: value, than: schema["properties"], member.value)
                default: try accepts(value, keyword: member.key, argument: member.value)
                }
            guard isRight else { return false }
        }
        return true
    }

    func resolve(_ reference: String) throws -> JSONValue {
        guard reference.hasPrefix("#"), let pointer = JSONPointer(String(reference.dropFirst())),
            let schema = pointer.value(in: root)
        else { throw BrokenReference(reference: reference) }
        return schema
    }

    private func accepts(_ value: JSONValue, keyword: String, argument: JSONValue) throws -> Bool {
        switch keyword {
        case "$schema", "$id", "$defs", "title", "description", "default": return true
        case "$ref": return try accepts(value, schema: try resolve(argument.string ?? ""))
        case "not": return try !accepts(value, schema: argument)
        case "type": return (argument.array ?? [argument]).contains { isOfType(value, $0.string) }
        case "enum": return argument.array?.contains(value) == true
        case "const": return argument == value
        case "oneOf": return try argument.array?.filter { try accepts(value, schema: $0) }.count == 1
        case "minLength": return value.string.map { $0.unicodeScalars.count >= limit(argument) } ?? true
        case "maxLength": return value.string.map { $0.unicodeScalars.count <= limit(argument) } ?? true
        case "pattern": return try value.string.map { try matches($0, argument.string ?? "") } ?? true
        case "minimum": return value.number?.double.map { $0 >= Double(limit(argument)) } ?? true
        case "maximum": return value.number?.double.map { $0 <= Double(limit(argument)) } ?? true
        case "items", "minItems", "maxItems", "uniqueItems":
            guard let elements = value.array else { return true }
            return try accepts(elements: elements, keyword, argument)
        case "required", "properties", "minProperties", "maxProperties", "propertyNames":
            guard let object = value.object else { return true }
            return try accepts(object: object, keyword, argument)
        default: throw UnknownKeyword(keyword: keyword)
        }
    }

    private func accepts(elements: [JSONValue], _ keyword: String, _ argument: JSONValue) throws -> Bool {
        switch keyword {
        case "uniqueItems": !elements.indices.contains { elements[..<$0].contains(elements[$0]) }
        case "minItems": elements.count >= limit(argument)
        case "maxItems": elements.count <= limit(argument)
        default: try elements.allSatisfy { try accepts($0, schema: argument) }
        }
    }

    private func accepts(object: JSONObject, _ keyword: String, _ argument: JSONValue) throws -> Bool {
        switch keyword {
        case "required": argument.array?.allSatisfy { $0.string.map { object[$0] != nil } ?? false } ?? false
        case "minProperties": object.count >= limit(argument)
        case "maxProperties": object.count <= limit(argument)
        case "propertyNames": try object.members.allSatisfy { try accepts(.string($0.key), schema: argument) }
        default:
            try object.members.allSatisfy { member in
                try argument[member.key].map { try accepts(member.value, schema: $0) } ?? true
            }
        }
    }

    /// Returns whether the members that `properties` does not name are accepted.
    private func accepts(others value: JSONValue, than properties: JSONValue?, _ argument: JSONValue) throws -> Bool {
        try (value.object?.members ?? []).allSatisfy { member in
            guard properties?[member.key] == nil else { return true }
            return try argument.bool ?? accepts(member.value, schema: argument)
        }
    }

    private func isOfType(_ value: JSONValue, _ type: String?) -> Bool {
        type == "integer" ? value.number?.double.map { $0 == $0.rounded() } ?? false : value.typeName == type
    }

    private func limit(_ argument: JSONValue) -> Int {
        argument.number?.int64.map(Int.init) ?? -1
    }

    private func matches(_ text: String, _ pattern: String) throws -> Bool {
        let expression = try NSRegularExpression(pattern: pattern)
        return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
    }
}
