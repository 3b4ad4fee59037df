extension JSONReader {
    /// Reads the string at the cursor, which is on the opening quote.
    mutating func string() throws(ParseInterruption) -> String {
        let quote = current
        let start = position + 1
        var end = start
        var isASCII = true
        while true {
            end = plainRun(from: end, quote: quote)
            guard end < bytes.count else { throw stop(.unexpectedEnd, at: bytes.count) }
            let byte = bytes[end]
            if byte == quote { break }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start, quote: quote) }
            guard byte >= 0x20 || (isJSON5 && byte == 0x09) else { throw stop(.controlCharacter, at: end) }
            if byte >= 0x80 { isASCII = false }
            end += 1
        }
        position = end + 1
        let content = UnsafeBufferPointer(rebasing: bytes[start..<end])
        if !isASCII, let offset = UTF8Check.firstFault(in: content) { throw stop(.invalidUTF8, at: start + offset) }
        return String(decoding: content, as: UTF8.self)
    }

    /// Skips bytes that need no attention, eight at a time: printable ASCII except the quote and the backslash.
    @inline(__always)
    private func plainRun(from start: Int, quote: UInt8) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        let quotes = ones &* UInt64(quote)
        let raw = UnsafeRawBufferPointer(bytes)
        var index = start
        while index + 8 <= bytes.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quoted = word ^ quotes
            let escaped = word ^ (ones &* 0x5C)
            // The top bit of a byte is set if that byte is zero or below the control limit. Borrows may set more bits,
            // but only above the first one that is right.
            let hits =
                ((quoted &- ones) & ~quoted) | ((escaped &- ones) & ~escaped) | ((word &- ones &* 0x20) & ~word) | word
            guard hits & tops == 0 else { return index + (hits & tops).trailingZeroBitCount / 8 }
            index += 8
        }
        return index
    }

    /// Reads a string with at least one escape into a separate buffer.
    private mutating func escapedString(from start: Int, quote: UInt8) throws(ParseInterruption) -> String {
        var buffer: [UInt8] = []
        position = start
        while true {
            guard position < bytes.count else { throw stop(.unexpectedEnd) }
            let byte = bytes[position]
            if byte == quote { break }
            guard byte >= 0x20 || (isJSON5 && byte == 0x09) else { throw stop(.controlCharacter) }
            if byte == UInt8(ascii: "\\") {
                try escape(into: &buffer)
            } else {
                buffer.append(byte)
                position += 1
            }
        }
        let fault = UTF8Check.firstFault(in: UnsafeBufferPointer(rebasing: bytes[start..<position]))
        if let fault { throw stop(.invalidUTF8, at: start + fault) }
        position += 1
        return String(decoding: buffer, as: UTF8.self)
    }

    private mutating func escape(into buffer: inout [UInt8]) throws(ParseInterruption) {
        let start = position
        position += 1
        guard position < bytes.count else { throw stop(.unexpectedEnd) }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): buffer.append(letter)
        case UInt8(ascii: "b"): buffer.append(0x08)
        case UInt8(ascii: "f"): buffer.append(0x0C)
        case UInt8(ascii: "n"): buffer.append(0x0A)
        case UInt8(ascii: "r"): buffer.append(0x0D)
        case UInt8(ascii: "t"): buffer.append(0x09)
        case UInt8(ascii: "u"): append(try escapedScalar(at: start), to: &buffer)
        default:
            guard isJSON5 else { throw stop(.invalidEscape, at: start) }
            try extendedEscape(letter, at: start, into: &buffer)
        }
    }

    /// Reads the scalar of `\uXXXX`, or of a surrogate pair.
    private mutating func escapedScalar(at start: Int) throws(ParseInterruption) -> Unicode.Scalar {
        let first = try hexadecimal(digits: 4, at: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, current == UInt8(ascii: "\\") else { throw stop(.loneSurrogate, at: start) }
        position += 1
        guard current == UInt8(ascii: "u") else { throw stop(.loneSurrogate, at: start) }
        position += 1
        let second = try hexadecimal(digits: 4, at: start)
        guard (0xDC00..<0xE000).contains(second) else { throw stop(.loneSurrogate, at: start) }
        let combined = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
        guard let scalar = Unicode.Scalar(combined) else { throw stop(.loneSurrogate, at: start) }
        return scalar
    }

    mutating func hexadecimal(digits: Int, at start: Int) throws(ParseInterruption) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let digit = Self.hexadecimalDigit(current) else {
                throw position < bytes.count ? stop(.invalidEscape, at: start) : stop(.unexpectedEnd)
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    mutating func append(_ scalar: Unicode.Scalar, to buffer: inout [UInt8]) {
        if scalar.value == 0 { suspicious = true }
        buffer.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Checks that UTF-8 is well-formed, as in table 3-7 of the Unicode standard.
///
/// Overlong forms, surrogates and values above U+10FFFF are ill-formed.
enum UTF8Check {
    /// Returns the offset of the first ill-formed sequence; `nil` if there is none.
    static func firstFault(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        let raw = UnsafeRawBufferPointer(bytes)
        var index = 0
        while index < bytes.count {
            // Text is mostly ASCII, which is skipped in words of eight bytes.
            while index + 8 <= bytes.count,
                raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
            }
            guard index < bytes.count else { break }
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
