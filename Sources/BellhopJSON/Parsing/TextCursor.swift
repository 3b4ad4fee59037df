/// A position in JSON text, for readers that decline what is unusual instead of naming its fault.
///
/// They allocate nothing. A ``JSONParser`` reads the texts that they decline.
package struct TextCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    package var position = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The byte at the cursor; 0 at the end, because 0 is not a legal byte outside a string.
    @inline(__always)
    package var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    package var isAtEnd: Bool { position == bytes.count }

    /// Skips a byte, and returns whether it was at the cursor.
    @inline(__always)
    package mutating func skip(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    /// Skips a word, and returns whether it was at the cursor.
    package mutating func skip(_ word: StaticString) -> Bool {
        for index in 0..<word.utf8CodeUnitCount where !skip(word.utf8Start[index]) { return false }
        return true
    }

    /// Skips white space.
    @inline(__always)
    package mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// Skips white space, a byte and white space, and returns whether the byte was there.
    @inline(__always)
    package mutating func skipMark(_ byte: UInt8) -> Bool {
        skipSpace()
        guard skip(byte) else { return false }
        skipSpace()
        return true
    }

    /// Skips a string and returns its content; `nil` if there is none, or if it has an escape or no end.
    @inline(__always)
    package mutating func plainString() -> UnsafeBufferPointer<UInt8>? {
        guard skip(UInt8(ascii: "\"")) else { return nil }
        let start = position
        position = EscapeScanner.end(in: bytes, from: start)
        let content = UnsafeBufferPointer(rebasing: bytes[start..<position])
        return skip(UInt8(ascii: "\"")) ? content : nil
    }
    /// Skips a number without exponent and returns its text; `nil` if there is none, or if it is long.
    package mutating func plainNumber() -> UnsafeBufferPointer<UInt8>? {
        let start = position
        _ = skip(UInt8(ascii: "-"))
        guard skip(UInt8(ascii: "0")) || skipDigits() else { return nil }
        if skip(UInt8(ascii: ".")), !skipDigits() { return nil }
        guard current | 0x20 != UInt8(ascii: "e"), position - start <= Self.longNumber else { return nil }
        return UnsafeBufferPointer(rebasing: bytes[start..<position])
    }

    /// Skips digits and returns whether there was at least one.
    mutating func skipDigits() -> Bool {
        let start = position
        while current >= UInt8(ascii: "0") && current <= UInt8(ascii: "9") { position += 1 }
        return position > start
    }

    /// The length in characters above which a number may not be portable.
    private static let longNumber = 300
}
