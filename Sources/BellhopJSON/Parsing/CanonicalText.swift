/// Finds out without allocations whether a text is a canonical object.
///
/// It declines every string with an escape, which is rare, and thus also some canonical texts.
struct CanonicalText {
    private var cursor: TextCursor
    private let depthLimit: Int

    /// Whether the parser accepts the text as an object, and ``JSONWriter`` writes that object with the same bytes.
    static func isObject(_ bytes: UnsafeBufferPointer<UInt8>, within limits: JSONParser.Limits) -> Bool {
        guard bytes.count <= limits.bytes else { return false }
        var text = CanonicalText(cursor: TextCursor(bytes), depthLimit: limits.depth)
        return text.skipObject(depth: 0) && text.cursor.isAtEnd && UTF8Check.firstFault(in: bytes) == nil
    }

    private mutating func skipValue(depth: Int) -> Bool {
        switch cursor.current {
        case UInt8(ascii: "\""): cursor.plainString() != nil
        case UInt8(ascii: "{"): skipObject(depth: depth)
        case UInt8(ascii: "["): skipArray(depth: depth)
        case UInt8(ascii: "t"): cursor.skip("true" as StaticString)
        case UInt8(ascii: "f"): cursor.skip("false" as StaticString)
        case UInt8(ascii: "n"): cursor.skip("null" as StaticString)
        default: skipNumber()
        }
    }

    private mutating func skipObject(depth: Int) -> Bool {
        guard depth < depthLimit, cursor.skip(UInt8(ascii: "{")) else { return false }
        if cursor.skip(UInt8(ascii: "}")) { return true }
        var previous: UnsafeBufferPointer<UInt8>?
        repeat {
            guard let key = cursor.plainString(), previous.map({ Self.isAscending($0, key) }) ?? true,
                cursor.skip(UInt8(ascii: ":")), skipValue(depth: depth + 1)
            else { return false }
            previous = key
        } while cursor.skip(UInt8(ascii: ","))
        return cursor.skip(UInt8(ascii: "}"))
    }

    private mutating func skipArray(depth: Int) -> Bool {
        guard depth < depthLimit, cursor.skip(UInt8(ascii: "[")) else { return false }
        if cursor.skip(UInt8(ascii: "]")) { return true }
        repeat {
            guard skipValue(depth: depth + 1) else { return false }
        } while cursor.skip(UInt8(ascii: ","))
        return cursor.skip(UInt8(ascii: "]"))
    }

    /// Whether the second key follows the first; equal keys do not.
    private static func isAscending(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) -> Bool {
        first.lexicographicallyPrecedes(second)
    }

    private mutating func skipNumber() -> Bool {
        _ = cursor.skip(UInt8(ascii: "-"))
        guard cursor.skip(UInt8(ascii: "0")) || cursor.skipDigits() else { return false }
        if cursor.skip(UInt8(ascii: ".")), !cursor.skipDigits() { return false }
        guard cursor.skip(UInt8(ascii: "e")) || cursor.skip(UInt8(ascii: "E")) else { return true }
        _ = cursor.skip(UInt8(ascii: "+")) || cursor.skip(UInt8(ascii: "-"))
        return cursor.skipDigits()
    }
}
