/// Checks that UTF-8 is well-formed, as in table 3-7 of the Unicode standard.
///
/// Overlong forms, surrogates and values above U+10FFFF are ill-formed.
enum UTF8Check {
    /// Returns the offset of the first ill-formed sequence; `nil` if there is none.
    static func firstFault(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var index = 0
        while index < bytes.count {
            let length = sequenceLength(in: bytes, at: index)
            guard length > 0 else { return index }
            index += length
        }
        return nil
    }

    /// Returns the length of the sequence at the index; 0 if it is ill-formed.
    private static func sequenceLength(in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        let lead = bytes[index]
        if lead < 0x80 { return 1 }
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return 0
        }
        guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { return 0 }
        for offset in 2..<max(length, 2) where bytes[index + offset] & 0xC0 != 0x80 { return 0 }
        return length
    }
}
