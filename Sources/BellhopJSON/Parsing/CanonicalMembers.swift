/// The members of a canonical JSON object, read from its text one after another.
///
/// Nothing is allocated, and no value is converted: keys and strings keep their escapes, so that they can be written into
/// other JSON as they are. Text that is not canonical ends the sequence.
package struct CanonicalMembers: Sequence, IteratorProtocol {
    package typealias Text = UnsafeBufferPointer<UInt8>

    package struct Member {
        /// The key without its quotes.
        package let key: Text
        /// The value as in the text.
        package let value: Text

        /// The content of a string, without its quotes; `nil` for other values.
        package var string: Text? {
            guard value.count >= 2, value[0] == UInt8(ascii: "\"") else { return nil }
            return Text(rebasing: value[1..<(value.count - 1)])
        }

        package var isNull: Bool { value.first == UInt8(ascii: "n") }
    }

    private let text: Text
    private var position = 1

    /// Creates the sequence of an object's members; it is valid as long as the text.
    package init(of object: Text) { text = object }

    package mutating func next() -> Member? {
        guard position < text.count, text[position] == UInt8(ascii: "\"") else { return nil }
        let key = skipString()
        position += 1
        let start = position
        guard position < text.count else { return nil }
        skipValue()
        let value = Text(rebasing: text[start..<position])
        position += 1
        return Member(key: key, value: value)
    }

    /// Skips a string and returns its content; without an end, it extends to the end of the text.
    private mutating func skipString() -> Text {
        let start = position + 1
        position = EscapeScanner.end(in: text, from: start)
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            // A backslash and the byte after it, which may be a quote.
            position = EscapeScanner.end(in: text, from: Swift.min(position + 2, text.count))
        }
        let content = Text(rebasing: text[start..<Swift.max(start, position)])
        position = Swift.min(position + 1, text.count)
        return content
    }

    private mutating func skipValue() {
        switch text[position] {
        case UInt8(ascii: "\""): _ = skipString()
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipNested()
        default:
            while position < text.count, text[position] != UInt8(ascii: ","), text[position] != UInt8(ascii: "}") {
                position += 1
            }
        }
    }

    /// Skips an object or an array with everything in it.
    private mutating func skipNested() {
        var depth = 0
        repeat {
            switch text[position] {
            case UInt8(ascii: "\""):
                _ = skipString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
        } while depth > 0 && position < text.count
    }
}
