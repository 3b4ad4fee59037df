/// The reason why bytes are not valid JSON, with the position for an editor.
public struct JSONFault: Error, Hashable, Sendable {
    /// The kind of fault; the raw value is the sentence shown to the user.
    public enum Code: String, CaseIterable, Sendable {
        /// The text contains only white space.
        case empty = "there is no value"
        /// The text stops inside a value.
        case unexpectedEnd = "the text ends inside a value"
        /// A byte is not allowed at its position.
        case unexpectedCharacter = "unexpected character"
        /// More text follows the value.
        case trailingContent = "there is more text after the end of the value"
        /// The text begins with a byte order mark.
        case byteOrderMark = "the text begins with a byte order mark; write UTF-8 without one"
        /// The bytes are not valid UTF-8.
        case invalidUTF8 = "the text is not valid UTF-8"
        /// An escape such as `\ud800` lacks its other half.
        case loneSurrogate = "an escaped surrogate has no other half"
        /// An escape is unknown or incomplete.
        case invalidEscape = "invalid escape in a string"
        /// A string contains a raw control character.
        case controlCharacter = "a control character inside a string must be escaped"
        /// The digits do not form a number.
        case invalidNumber = "invalid number"
        /// The number is `Infinity` or `NaN`.
        case nonFiniteNumber = "Infinity and NaN are not accepted"
        /// An object contains the same key twice.
        ///
        /// Parsers disagree on which value counts, so neither is accepted.
        case duplicateKey = "duplicate key in one object"
        /// The document has more levels than the limit.
        case tooDeep = "nested too deep"
        /// The document has more bytes than the limit.
        case tooLarge = "larger than the limit"
        /// A comment is never closed.
        case unterminatedComment = "a comment is not closed"
    }

    /// The kind of fault.
    public let code: Code
    /// The offset of the fault in bytes from the beginning.
    public let offset: Int
    /// The line, counted from 1.
    public let line: Int
    /// The column in characters (code points), counted from 1.
    public let column: Int

    /// The kind and position of the fault in one line; never contains the document's text.
    public var message: String { "\(code.rawValue) (line \(line), column \(column), byte \(offset))" }

    /// Returns the fault with its position in a file of which the document is a part.
    ///
    /// The document must begin at the start of a line, after the given lines and bytes.
    package func after(lines: Int, bytes: Int) -> JSONFault {
        JSONFault(code: code, offset: offset + bytes, line: line + lines, column: column)
    }
}

/// The internal error that stops the reader.
///
/// It becomes a `JSONFault` only at the interface, because counting lines needs a pass over the text.
struct ParseInterruption: Error {
    let code: JSONFault.Code
    let offset: Int

    func fault(in bytes: UnsafeBufferPointer<UInt8>) -> JSONFault {
        let place = TextPlace(offset: offset, in: bytes)
        return JSONFault(code: code, offset: offset, line: place.line, column: place.column)
    }
}

/// The line and column of a byte offset.
struct TextPlace {
    /// The line, counted from 1; a line ends with LF, CR or CR LF.
    let line: Int
    /// The column in code points, counted from 1.
    let column: Int

    init(offset: Int, in bytes: UnsafeBufferPointer<UInt8>) {
        var line = 1
        var column = 1
        for index in 0..<min(offset, bytes.count) {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            if byte == 0x0A || (byte == 0x0D && next != 0x0A) {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
        self.line = line
        self.column = column
    }
}
