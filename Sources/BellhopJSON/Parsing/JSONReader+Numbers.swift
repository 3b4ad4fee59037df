extension JSONReader {
    /// The length in characters above which a number needs an inspection.
    private static let longNumber = 300

    /// Reads the number at the cursor and keeps its text.
    mutating func number() throws(ParseInterruption) -> JSONNumber {
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        if isJSON5, let number = try extendedNumber(from: start) { return number }
        try integerPart(from: start)
        if current == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() else { throw numberStop(start) }
        }
        try exponentPart(from: start)
        if position - start > Self.longNumber { suspicious = true }
        return JSONNumber(checked: text(from: start))
    }

    /// Reads a single zero, or digits that do not begin with zero.
    private mutating func integerPart(from start: Int) throws(ParseInterruption) {
        if current == UInt8(ascii: "0") {
            position += 1
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) { throw stop(.invalidNumber, at: start) }
        } else if !skipDigits() {
            throw numberStop(start)
        }
    }

    mutating func exponentPart(from start: Int) throws(ParseInterruption) {
        guard current | 0x20 == UInt8(ascii: "e") else { return }
        suspicious = true
        position += 1
        if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
        guard skipDigits() else { throw numberStop(start) }
    }

    /// Skips digits and returns whether there was at least one.
    mutating func skipDigits() -> Bool {
        let start = position
        while current >= UInt8(ascii: "0") && current <= UInt8(ascii: "9") { position += 1 }
        return position > start
    }

    func numberStop(_ start: Int) -> ParseInterruption {
        position < bytes.count ? stop(.invalidNumber, at: start) : stop(.unexpectedEnd)
    }

    func text(from start: Int) -> String {
        String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
    }
}
