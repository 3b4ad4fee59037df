import BellhopJSON
import TestSupport

/// The document `docs/openapi.yaml`, with checks of values against it.
struct OpenAPIDocument: Sendable {
    let root: JSONValue

    static let shipped: OpenAPIDocument = {
        OpenAPIDocument(root: PlainYAML.read((try? Checkout.text("docs/openapi.yaml")) ?? ""))
    }()

    /// The operations, such as `GET /api/notifications`.
    var operations: Set<String> {
        let paths = root["paths"]?.object?.members ?? []
        return Set(
            paths.flatMap { path in
                (path.value.object?.members ?? []).map { "\($0.key.uppercased()) \(path.key)" }
            }
        )
    }

    func operation(_ method: String, _ path: String) -> JSONValue? {
        root["paths"]?[path]?[method.lowercased()]
    }

    /// Returns the differences between an answer and the document.
    ///
    /// The result is empty if they agree.
    func faults(of status: Int, _ body: JSONValue?, to method: String, _ path: String) -> [String] {
        let call = "\(method) \(path) \(status)"
        guard let response = resolved(operation(method, path)?["responses"]?["\(status)"]) else {
            return ["\(call) is not documented"]
        }
        guard let schema = response["content"]?["application/json"]?["schema"] else {
            return body == nil || response["content"] != nil ? [] : ["\(call) should have no body"]
        }
        guard let body else { return ["\(call) has no JSON"] }
        return check(body, schema, at: call)
    }

    /// Returns the differences between a value and a schema.
    ///
    /// It supports the features that this document uses.
    func check(_ value: JSONValue, _ schema: JSONValue, at place: String) -> [String] {
        guard let schema = resolved(schema) else { return ["\(place): the schema leads nowhere"] }
        var faults: [String] = []
        let types = schema["type"]?.array?.compactMap(\.string) ?? schema["type"]?.string.map { [$0] } ?? []
        let kind = value.number?.int64 != nil ? "integer" : value.typeName
        if !types.isEmpty, !types.contains(kind) { faults.append("\(place): \(kind) in place of \(types)") }
        if let words = schema["enum"]?.array, !words.contains(value) { faults.append("\(place): not in \(words)") }
        if let object = value.object { faults += check(object, schema, at: place) }
        if let items = schema["items"] {
            for (index, element) in (value.array ?? []).enumerated() {
                faults += check(element, items, at: "\(place)/\(index)")
            }
        }
        return faults
    }

    private func check(_ object: JSONObject, _ schema: JSONValue, at place: String) -> [String] {
        var faults = (schema["required"]?.array ?? []).compactMap(\.string).filter { object[$0] == nil }.map {
            "\(place): \($0) is missing"
        }
        for member in object.members {
            if let known = schema["properties"]?[member.key] {
                faults += check(member.value, known, at: "\(place)/\(member.key)")
            } else if let others = schema["additionalProperties"], others != .bool(true) {
                faults +=
                    others == .bool(false)
                    ? ["\(place): \(member.key) is not documented"]
                    : check(member.value, others, at: "\(place)/\(member.key)")
            }
        }
        return faults
    }

    private func resolved(_ value: JSONValue?) -> JSONValue? {
        guard let reference = value?["$ref"]?.string else { return value }
        return resolved(JSONPointer(String(reference.dropFirst()))?.value(in: root))
    }
}
