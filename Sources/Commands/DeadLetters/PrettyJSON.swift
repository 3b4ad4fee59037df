import BellhopJSON

/// Formats JSON over several lines, for people.
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
