/// Finds bytes that a JSON string must escape, eight bytes at a time.
enum EscapeScanner {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let tops: UInt64 = 0x8080_8080_8080_8080

    /// Returns the index of the next quote, backslash or control character, or the end if there is none.
    @inline(__always)
    static func end(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = start
        while index + 8 <= bytes.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            // Borrows may cause false hits, so each hit is checked again below.
            let found = zeros(word ^ (ones &* 0x22)) | zeros(word ^ (ones &* 0x5C)) | ((word &- ones &* 0x20) & ~word)
            if found & tops != 0, let place = (index..<index + 8).first(where: { mustBeEscaped(bytes[$0]) }) {
                return place
            }
            index += 8
        }
        while index < bytes.count, !mustBeEscaped(bytes[index]) { index += 1 }
        return index
    }

    /// Sets the top bit of each byte that is zero; borrows may set others.
    @inline(__always)
    private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }

    @inline(__always)
    private static func mustBeEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }
}
