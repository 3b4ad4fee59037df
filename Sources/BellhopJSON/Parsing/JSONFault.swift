/// Why some bytes are not JSON, and where: a person with an editor can go there.
public struct JSONFault: Error, Hashable, Sendable {
    /// What is wrong; the raw value is the sentence that goes to the reader.
    public enum Code: String, CaseIterable, Sendable {
        /// Nothing but white space.
        case empty = "there is no value"
        /// The text stops inside a value.
        case unexpectedEnd = "the text ends inside a value"
        /// A byte that cannot stand here.
        case unexpectedCharacter = "unexpected character"
        /// Something follows the value.
        case trailingContent = "there is more text after the end of the value"
        /// The text begins with a byte order mark.
        case byteOrderMark = "the text begins with a byte order mark; write UTF-8 without one"
        /// Bytes that are not UTF-8.
        case invalidUTF8 = "the text is not valid UTF-8"
        /// An escape such as `\ud800` without its other half.
        case loneSurrogate = "an escaped surrogate has no other half"
        /// An unknown or incomplete escape.
        case invalidEscape = "invalid escape in a string"
        /// A raw control character inside a string.
        case controlCharacter = "a control character inside a string must be escaped"
        /// Digits that do not form a number.
        case invalidNumber = "invalid number"
        /// `Infinity` or `NaN`.
        case nonFiniteNumber = "Infinity and NaN are not accepted"
        /// The same key twice in one object: readers disagree on which one counts, so neither does.
        case duplicateKey = "duplicate key in one object"
        /// More levels than the limit.
        case tooDeep = "nested too deep"
        /// More bytes than the limit.
        case tooLarge = "larger than the limit"
        /// A comment that is never closed.
        case unterminatedComment = "a comment is not closed"
    }

    /// What is wrong.
    public let code: Code
    /// Where, in bytes from the beginning.
    public let offset: Int
    /// The line, from 1.
    public let line: Int
    /// The column in characters (code points), from 1.
    public let column: Int

    /// What is wrong and where, in one line; never contains the text itself.
    public var message: String {
        "\(code.rawValue) (line \(line), column \(column), byte \(offset))"
    }
}

/// What stops a reader: turned into a `JSONFault` only at the door, since counting lines costs a walk.
struct JSONStop: Error {
    let code: JSONFault.Code
    let offset: Int

    func fault(in bytes: UnsafeBufferPointer<UInt8>) -> JSONFault {
        let place = TextPlace(offset: offset, in: bytes)
        return JSONFault(code: code, offset: offset, line: place.line, column: place.column)
    }
}

/// Line and column of a byte offset.
struct TextPlace {
    /// From 1; a line ends with LF, CR or CR LF.
    let line: Int
    /// From 1, in code points.
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
