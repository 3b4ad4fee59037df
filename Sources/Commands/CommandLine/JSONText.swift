import BellhopRules

/// JSON that a command prints, members in the order in which they are given.
enum JSONText: CustomStringConvertible {
    case text(String)
    case number(Int)
    case flag(Bool)
    case null
    case list([JSONText])
    case object([(String, JSONText)])

    static func optional(_ text: String?) -> JSONText { text.map(JSONText.text) ?? .null }

    var description: String {
        switch self {
        case .text(let text):
            var bytes: [UInt8] = []
            JSONWriter.write(text, into: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        case .number(let number): return String(number)
        case .flag(let flag): return String(flag)
        case .null: return "null"
        case .list(let items): return "[" + items.map(\.description).joined(separator: ",") + "]"
        case .object(let members):
            return "{" + members.map { "\(JSONText.text($0.0)):\($0.1)" }.joined(separator: ",") + "}"
        }
    }
}
