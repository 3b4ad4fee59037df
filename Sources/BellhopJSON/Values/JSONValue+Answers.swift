/// Makes values for the answers that programs read.
extension JSONValue {
    /// Creates a whole number.
    package static func int(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }

    /// Creates a whole number.
    package static func int(_ number: Int64) -> JSONValue { .number(JSONNumber(number)) }

    /// Creates a string, or `null` if there is none.
    package static func optional(_ text: String?) -> JSONValue {
        text.map(JSONValue.string) ?? .null
    }

    /// Creates an object whose keys are unique and keep the given order.
    package static func members(_ pairs: [(String, JSONValue)]) -> JSONValue {
        .object(JSONObject(unique: pairs.map { JSONObject.Member(key: $0, value: $1) }))
    }

    /// The value as JSON without white space, with the members of objects in their own order.
    package var written: String {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let number): bytes += number.text.utf8
        case .string(let text): JSONWriter.write(text, into: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONWriter.write(member.key, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }
}
