/// A JSON object as its canonical text, for objects that are stored and passed on as a whole.
package struct CanonicalObject: Sendable, Hashable {
    /// The text, as ``JSONWriter`` writes it.
    package let bytes: [UInt8]

    /// The object without members.
    package static let empty = CanonicalObject(JSONObject())

    package init(_ object: JSONObject) { bytes = object.canonicalBytes }

    /// Reads an object; `nil` for other JSON and for text that the parser rejects.
    ///
    /// Canonical text is only copied. Any other text is parsed and written again.
    package init?(_ text: UnsafeRawBufferPointer, limits: JSONParser.Limits = .event) {
        if text.withMemoryRebound(to: UInt8.self, { CanonicalText.isObject($0, within: limits) }) {
            bytes = [UInt8](text)
        } else {
            guard case .success(.object(let object)) = JSONParser(limits: limits).parse(text) else { return nil }
            bytes = object.canonicalBytes
        }
    }

    /// The members, which are parsed at each call.
    package var object: JSONObject {
        guard case .success(.object(let object)) = JSONParser(limits: .work).parse(bytes) else { return JSONObject() }
        return object
    }
}

extension JSONBuffer {
    /// Writes a member with an object.
    package mutating func append(_ name: StaticString, _ object: CanonicalObject) {
        begin(name)
        object.bytes.withUnsafeBufferPointer { append($0) }
    }
}

/// Finds out without allocations whether a text is a canonical object.
///
/// It declines every string with an escape, which is rare, and thus also some canonical texts.
struct CanonicalText {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let depthLimit: Int
    private var position = 0

    /// Whether the parser accepts the text as an object, and ``JSONWriter`` writes that object with the same bytes.
    static func isObject(_ bytes: UnsafeBufferPointer<UInt8>, within limits: JSONParser.Limits) -> Bool {
        guard bytes.count <= limits.bytes else { return false }
        var text = CanonicalText(bytes: bytes, depthLimit: limits.depth)
        return text.skipObject(depth: 0) && text.position == bytes.count && UTF8Check.firstFault(in: bytes) == nil
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, depthLimit: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    /// The byte at the cursor; 0 at the end, because 0 is not a legal byte outside a string.
    private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipValue(depth: Int) -> Bool {
        switch current {
        case UInt8(ascii: "\""): skipString() != nil
        case UInt8(ascii: "{"): skipObject(depth: depth)
        case UInt8(ascii: "["): skipArray(depth: depth)
        case UInt8(ascii: "t"): skipWord("true")
        case UInt8(ascii: "f"): skipWord("false")
        case UInt8(ascii: "n"): skipWord("null")
        default: skipNumber()
        }
    }

    private mutating func skipObject(depth: Int) -> Bool {
        guard depth < depthLimit, skip(UInt8(ascii: "{")) else { return false }
        if skip(UInt8(ascii: "}")) { return true }
        var previous: UnsafeBufferPointer<UInt8>?
        repeat {
            guard let key = skipString(), previous.map({ Self.isAscending($0, key) }) ?? true, skip(UInt8(ascii: ":")),
                skipValue(depth: depth + 1)
            else { return false }
            previous = key
        } while skip(UInt8(ascii: ","))
        return skip(UInt8(ascii: "}"))
    }

    private mutating func skipArray(depth: Int) -> Bool {
        guard depth < depthLimit, skip(UInt8(ascii: "[")) else { return false }
        if skip(UInt8(ascii: "]")) { return true }
        repeat {
            guard skipValue(depth: depth + 1) else { return false }
        } while skip(UInt8(ascii: ","))
        return skip(UInt8(ascii: "]"))
    }

    /// Skips a string and returns its content; `nil` if it has an escape, or no end.
    private mutating func skipString() -> UnsafeBufferPointer<UInt8>? {
        guard skip(UInt8(ascii: "\"")) else { return nil }
        let start = position
        position = EscapeScanner.end(in: bytes, from: start)
        let content = UnsafeBufferPointer(rebasing: bytes[start..<position])
        return skip(UInt8(ascii: "\"")) ? content : nil
    }

    /// Whether the second key follows the first; equal keys do not.
    private static func isAscending(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) -> Bool {
        first.lexicographicallyPrecedes(second)
    }

    private mutating func skipWord(_ word: StaticString) -> Bool {
        for index in 0..<word.utf8CodeUnitCount where !skip(word.utf8Start[index]) { return false }
        return true
    }

    private mutating func skipNumber() -> Bool {
        _ = skip(UInt8(ascii: "-"))
        guard skip(UInt8(ascii: "0")) || skipDigits() else { return false }
        if skip(UInt8(ascii: ".")), !skipDigits() { return false }
        guard skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) else { return true }
        _ = skip(UInt8(ascii: "+")) || skip(UInt8(ascii: "-"))
        return skipDigits()
    }

    /// Skips digits and returns whether there was at least one.
    private mutating func skipDigits() -> Bool {
        let start = position
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) { position += 1 }
        return position > start
    }
}
