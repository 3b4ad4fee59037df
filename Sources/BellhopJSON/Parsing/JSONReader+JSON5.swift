/// The additions of JSON5 to the strict grammar.
extension JSONReader {
    /// Skips one comment or one rare space character; returns false if neither is at the cursor.
    mutating func skipExtendedSpace() throws(ParseInterruption) -> Bool {
        switch current {
        case 0x0B, 0x0C:
            position += 1
            return true
        case UInt8(ascii: "/"):
            try skipComment()
            return true
        case 0x80...:
            let length = extendedSpaceLength()
            position += length
            return length > 0
        default:
            return false
        }
    }

    /// Returns the length in bytes of the non-ASCII space at the cursor, or 0.
    ///
    /// Such spaces are the no-break space, the line and paragraph separators and category Zs.
    private func extendedSpaceLength() -> Int {
        let rest = bytes[position..<min(position + 3, bytes.count)]
        if rest.starts(with: [0xC2, 0xA0]) { return 2 }
        guard rest.count == 3 else { return 0 }
        let scalar =
            UInt32(rest[position] & 0x0F) << 12 | UInt32(rest[position + 1] & 0x3F) << 6
            | UInt32(rest[position + 2] & 0x3F)
        guard rest[position] & 0xF0 == 0xE0 else { return 0 }
        switch scalar {
        case 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: return 3
        default: return 0
        }
    }

    private mutating func skipComment() throws(ParseInterruption) {
        let start = position
        position += 1
        switch current {
        case UInt8(ascii: "/"):
            while position < bytes.count, current != 0x0A, current != 0x0D { position += 1 }
        case UInt8(ascii: "*"):
            position += 1
            while position + 1 < bytes.count {
                if bytes[position] == UInt8(ascii: "*"), bytes[position + 1] == UInt8(ascii: "/") { break }
                position += 1
            }
            guard position + 1 < bytes.count else { throw stop(.unterminatedComment, at: start) }
            position += 2
        default:
            throw stop(.unexpectedCharacter, at: start)
        }
        let comment = UnsafeBufferPointer(rebasing: bytes[start..<position])
        if let fault = UTF8Check.firstFault(in: comment) { throw stop(.invalidUTF8, at: start + fault) }
    }

    /// Reads a single-quoted string or a number that begins with a plus sign or a point; rejects everything else.
    mutating func extendedValue() throws(ParseInterruption) -> JSONValue {
        switch current {
        case UInt8(ascii: "'"): return .string(try string())
        case UInt8(ascii: "."): return .number(try number())
        case UInt8(ascii: "+"):
            position += 1
            guard current != UInt8(ascii: "-"), current != UInt8(ascii: "+") else { throw unexpected() }
            return .number(try number())
        case UInt8(ascii: "I"), UInt8(ascii: "N"): throw stop(.nonFiniteNumber)
        default: throw unexpected()
        }
    }

    /// Reads a key in single quotes or without quotes.
    mutating func extendedKey() throws(ParseInterruption) -> String {
        if current == UInt8(ascii: "'") { return try string() }
        let start = position
        while isKeyByte(current, first: position == start) { position += 1 }
        guard position > start else { throw unexpected() }
        let key = UnsafeBufferPointer(rebasing: bytes[start..<position])
        if let fault = UTF8Check.firstFault(in: key) { throw stop(.invalidUTF8, at: start + fault) }
        return text(from: start)
    }

    private func isKeyByte(_ byte: UInt8, first: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "$"),
            UInt8(ascii: "_"):
            true
        case 0x80...: extendedSpaceLength() == 0
        case UInt8(ascii: "0")...UInt8(ascii: "9"): !first
        default: false
        }
    }

    /// Reads an escape that only JSON5 defines.
    ///
    /// The cursor is behind `letter`.
    mutating func extendedEscape(_ letter: UInt8, at start: Int, into buffer: inout [UInt8]) throws(ParseInterruption) {
        switch letter {
        case UInt8(ascii: "v"): buffer.append(0x0B)
        case UInt8(ascii: "x"):
            guard let scalar = Unicode.Scalar(try hexadecimal(digits: 2, at: start)) else {
                throw stop(.invalidEscape, at: start)
            }
            append(scalar, to: &buffer)
        case UInt8(ascii: "0"):
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) { throw stop(.invalidEscape, at: start) }
            append("\0", to: &buffer)
        case UInt8(ascii: "1")...UInt8(ascii: "9"): throw stop(.invalidEscape, at: start)
        case 0x0D:  // A line continuation adds nothing.
            if current == 0x0A { position += 1 }
        case 0x0A: break
        default: buffer.append(letter)
        }
    }

    /// Reads a number that only JSON5 allows and rewrites it as JSON.
    ///
    /// Such numbers are hexadecimal, or have no digits on one side of the point. The cursor is behind the sign. The
    /// result is `nil`, with the cursor unmoved, if the strict grammar can read the number.
    mutating func extendedNumber(from start: Int) throws(ParseInterruption) -> JSONNumber? {
        let digits = position
        let sign = digits > start ? "-" : ""
        if current == UInt8(ascii: "I") || current == UInt8(ascii: "N") { throw stop(.nonFiniteNumber, at: start) }
        if current == UInt8(ascii: "0"), position + 1 < bytes.count, bytes[position + 1] | 0x20 == UInt8(ascii: "x") {
            position += 2
            var value: UInt64 = 0
            let first = position
            while let digit = Self.hexadecimalDigit(current) {
                guard value >> 60 == 0 else { throw stop(.invalidNumber, at: start) }
                value = value << 4 | UInt64(digit)
                position += 1
            }
            guard position > first else { throw numberStop(start) }
            return JSONNumber(checked: sign + String(value))
        }
        let hasInteger = skipDigits()
        guard current == UInt8(ascii: ".") else { return rewind(to: digits) }
        let integer = text(from: digits)
        position += 1
        let fractionStart = position
        let hasFraction = skipDigits()
        guard hasInteger || hasFraction else { throw numberStop(start) }
        if hasInteger && hasFraction { return rewind(to: digits) }
        let fraction = hasFraction ? "." + text(from: fractionStart) : ""
        let exponentStart = position
        try exponentPart(from: start)
        if integer.utf8.count > 1, integer.utf8.first == UInt8(ascii: "0") { throw stop(.invalidNumber, at: start) }
        return JSONNumber(checked: sign + (hasInteger ? integer : "0") + fraction + text(from: exponentStart))
    }

    private mutating func rewind(to start: Int) -> JSONNumber? {
        position = start
        return nil
    }
}
