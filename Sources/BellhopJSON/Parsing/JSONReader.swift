/// A cursor over bytes that reads one document.
///
/// This type reads the strict grammar; an extension adds JSON5. Every access to `bytes` follows a check against its
/// count, because the unchecked pointer is the reason for the reader's speed. Each document has one reader, which is
/// never copied.
struct JSONReader: ~Copyable {
    let bytes: UnsafeBufferPointer<UInt8>
    let isJSON5: Bool
    var position = 0
    var suspicious = false
    var places: [JSONPointer: Int] = [:]
    private let depthLimit: Int
    private var path: JSONPointer?

    init(_ bytes: UnsafeBufferPointer<UInt8>, dialect: JSONParser.Dialect, depth: Int, recordingPlaces: Bool) {
        self.bytes = bytes
        isJSON5 = dialect == .json5
        depthLimit = depth
        path = recordingPlaces ? .root : nil
    }

    /// The byte at the cursor; 0 at the end, because 0 is not a legal byte outside a string.
    @inline(__always)
    var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    func stop(_ code: JSONFault.Code, at offset: Int? = nil) -> ParseInterruption {
        ParseInterruption(code: code, offset: offset ?? position)
    }

    /// Returns the unexpected end if no bytes are left, and an unexpected character otherwise.
    func unexpected() -> ParseInterruption {
        stop(position < bytes.count ? .unexpectedCharacter : .unexpectedEnd)
    }

    mutating func document() throws(ParseInterruption) -> JSONValue {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { throw stop(.byteOrderMark) }
        try skipSpace()
        guard position < bytes.count else { throw stop(.empty) }
        let root = try value(depth: 0)
        try skipSpace()
        guard position == bytes.count else { throw stop(.trailingContent) }
        return root
    }

    @inline(__always)
    mutating func skipSpace() throws(ParseInterruption) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default:
                guard isJSON5, try skipExtendedSpace() else { return }
            }
        }
    }

    mutating func value(depth: Int) throws(ParseInterruption) -> JSONValue {
        switch current {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        default:
            guard isJSON5 else { throw unexpected() }
            return try extendedValue()
        }
    }

    /// Reads one of the grammar's three literals.
    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(ParseInterruption) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard current == word.utf8Start[index] else { throw unexpected() }
            position += 1
        }
        return value
    }

    private mutating func array(depth: Int) throws(ParseInterruption) -> [JSONValue] {
        guard depth < depthLimit else { throw stop(.tooDeep) }
        let outer = path
        defer { path = outer }
        var elements: [JSONValue] = []
        position += 1
        try skipSpace()
        while current != UInt8(ascii: "]") {
            if outer != nil { enter(outer?.index(elements.count)) }
            elements.append(try value(depth: depth + 1))
            try skipSpace()
            guard try skipComma(before: UInt8(ascii: "]")) else { break }
        }
        guard current == UInt8(ascii: "]") else { throw unexpected() }
        position += 1
        return elements
    }

    private mutating func object(depth: Int) throws(ParseInterruption) -> JSONObject {
        guard depth < depthLimit else { throw stop(.tooDeep) }
        let outer = path
        defer { path = outer }
        var members = UniqueMembers(expecting: depth == 0 ? 16 : 4)
        position += 1
        try skipSpace()
        while current != UInt8(ascii: "}") {
            let start = position
            let key = try memberKey()
            if outer != nil { enter(outer?.key(key), at: start) }
            try skipSpace()
            guard current == UInt8(ascii: ":") else { throw unexpected() }
            position += 1
            try skipSpace()
            guard members.append(key, try value(depth: depth + 1)) else { throw stop(.duplicateKey, at: start) }
            try skipSpace()
            guard try skipComma(before: UInt8(ascii: "}")) else { break }
        }
        guard current == UInt8(ascii: "}") else { throw unexpected() }
        position += 1
        return JSONObject(unique: members.members)
    }

    /// Skips a comma and returns whether another element follows.
    ///
    /// A comma before the closing bracket is an error, except in JSON5.
    private mutating func skipComma(before closing: UInt8) throws(ParseInterruption) -> Bool {
        guard current == UInt8(ascii: ",") else { return false }
        position += 1
        try skipSpace()
        guard current == closing else { return true }
        guard isJSON5 else { throw unexpected() }
        return false
    }

    private mutating func memberKey() throws(ParseInterruption) -> String {
        if current == UInt8(ascii: "\"") { return try string() }
        guard isJSON5 else { throw unexpected() }
        return try extendedKey()
    }

    private mutating func enter(_ place: JSONPointer?, at offset: Int? = nil) {
        guard let place else { return }
        path = place
        places[place] = offset ?? position
    }

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
