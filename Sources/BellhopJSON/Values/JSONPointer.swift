/// The place of a value inside a document (RFC 6901), such as `/to/users/3`; the empty text means the whole document.
public struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// The text of the pointer.
    public let text: String

    /// The pointer to the whole document.
    public static let root = JSONPointer(checked: "")

    private init(checked text: String) { self.text = text }

    /// Creates a pointer from its text; `nil` if the text is invalid.
    ///
    /// Valid text is empty or begins with `/`, and each `~` is followed by `0` or `1`.
    public init?(_ text: String) {
        guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { return nil }
        var afterTilde = false
        for byte in text.utf8 {
            if afterTilde && byte != UInt8(ascii: "0") && byte != UInt8(ascii: "1") { return nil }
            afterTilde = byte == UInt8(ascii: "~")
        }
        guard !afterTilde else { return nil }
        self.text = text
    }

    /// Returns the place of a member of the object at this place.
    public func key(_ key: String) -> JSONPointer {
        guard key.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
            return JSONPointer(checked: "\(text)/\(key)")
        }
        var escaped = text + "/"
        for scalar in key.unicodeScalars {
            switch scalar {
            case "~": escaped += "~0"
            case "/": escaped += "~1"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return JSONPointer(checked: escaped)
    }

    /// Returns the place of an element of the array at this place.
    public func index(_ index: Int) -> JSONPointer { JSONPointer(checked: "\(text)/\(index)") }

    /// Returns the place that `pointer` names inside the value at this place.
    package func appending(_ pointer: JSONPointer) -> JSONPointer { JSONPointer(checked: text + pointer.text) }

    /// The unescaped steps from the root.
    public var steps: [String] {
        text.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { step in
            var plain = String.UnicodeScalarView()
            var afterTilde = false
            for scalar in step.unicodeScalars {
                if afterTilde {
                    plain.append(scalar == "1" ? "/" : "~")
                } else if scalar != "~" {
                    plain.append(scalar)
                }
                afterTilde = !afterTilde && scalar == "~"
            }
            return String(plain)
        }
    }

    /// Returns the value at this place; `nil` if there is none.
    public func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for step in steps {
            switch value {
            case .object(let object):
                guard let member = object[step] else { return nil }
                value = member
            case .array(let elements):
                guard let index = Self.arrayIndex(step), index < elements.count else { return nil }
                value = elements[index]
            default:
                return nil
            }
        }
        return value
    }

    /// Returns the index that a step names.
    ///
    /// It must have no leading zero, as the RFC requires.
    private static func arrayIndex(_ step: String) -> Int? {
        guard step == "0" || step.utf8.first.map({ (0x31...0x39).contains($0) }) == true else { return nil }
        return Int(step)
    }

    /// The text of the pointer.
    public var description: String { text }
}
