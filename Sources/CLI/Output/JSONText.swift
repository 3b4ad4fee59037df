package import BellhopJSON
import Foundation

/// JSON that a command prints.
///
/// Members keep the given order.
package enum JSONText: Sendable, CustomStringConvertible {
    case text(String)
    case number(Int)
    /// A number that is already written in JSON's grammar.
    case digits(String)
    /// A number with a limited count of digits after the decimal point.
    case decimal(Double, digits: Int)
    case flag(Bool)
    case null
    case list([JSONText])
    case object([(String, JSONText)])

    package static func optional(_ text: String?) -> JSONText { text.map(JSONText.text) ?? .null }

    package var description: String {
        switch self {
        case .text(let text):
            var bytes: [UInt8] = []
            JSONWriter.write(text, into: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        case .number(let number): return String(number)
        case .digits(let text): return text
        case .decimal(let number, let digits): return number.isFinite ? number.text(digits: digits) : "null"
        case .flag(let flag): return String(flag)
        case .null: return "null"
        case .list(let items): return "[" + items.map(\.description).joined(separator: ",") + "]"
        case .object(let members):
            return "{" + members.map { "\(JSONText.text($0.0)):\($0.1)" }.joined(separator: ",") + "}"
        }
    }
}

extension JSONText {
    /// Creates the text of any JSON value, unchanged.
    package init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .flag(flag)
        case .number(let number): self = .digits(number.text)
        case .string(let text): self = .text(text)
        case .array(let values): self = .list(values.map { JSONText($0) })
        case .object(let object): self = .object(object.members.map { ($0.key, JSONText($0.value)) })
        }
    }
}

extension Double {
    /// Returns the number rounded to `digits` digits after the decimal point, all of them shown.
    package func text(digits: Int) -> String {
        String(format: "%.\(digits)f", self)
    }
}
