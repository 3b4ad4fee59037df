/// Writes JSON in one canonical form: keys in the order of their bytes, no white space, only the escapes that must be,
/// numbers as their source wrote them.
///
/// The same value always gives the same bytes, so that they can be hashed and compared; reading them back gives an
/// equal value.
public enum JSONWriter {
    /// The canonical bytes of a value.
    public static func canonicalBytes(of value: JSONValue) -> [UInt8] {
        var buffer: [UInt8] = []
        write(value, into: &buffer)
        return buffer
    }

    /// Appends the canonical bytes of a value.
    public static func write(_ value: JSONValue, into buffer: inout [UInt8]) {
        switch value {
        case .null: append("null", to: &buffer)
        case .bool(let value): append(value ? "true" : "false", to: &buffer)
        case .number(let number): number.text.withBytes { buffer.append(contentsOf: $0) }
        case .string(let text): write(text, into: &buffer)
        case .array(let elements): write(elements, into: &buffer)
        case .object(let object): write(object, into: &buffer)
        }
    }

    /// Appends a quoted string.
    public static func write(_ text: String, into buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "\""))
        text.withBytes { bytes in
            var start = 0
            while true {
                let end = PlainRun.end(in: bytes, from: start)
                buffer.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
                guard end < bytes.count else { break }
                escape(bytes[end], into: &buffer)
                start = end + 1
            }
        }
        buffer.append(UInt8(ascii: "\""))
    }

    /// Appends an object, its keys in order.
    public static func write(_ object: JSONObject, into buffer: inout [UInt8]) {
        if buffer.isEmpty { buffer.reserveCapacity(2 + 32 * object.count) }
        buffer.append(UInt8(ascii: "{"))
        object.withPlacesByKey { places in
            for (position, place) in places.enumerated() {
                if position > 0 { buffer.append(UInt8(ascii: ",")) }
                write(object.members[place].key, into: &buffer)
                buffer.append(UInt8(ascii: ":"))
                write(object.members[place].value, into: &buffer)
            }
        }
        buffer.append(UInt8(ascii: "}"))
    }

    private static func write(_ elements: [JSONValue], into buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "["))
        var isFirst = true
        for element in elements {
            if !isFirst { buffer.append(UInt8(ascii: ",")) }
            isFirst = false
            write(element, into: &buffer)
        }
        buffer.append(UInt8(ascii: "]"))
    }

    private static func escape(_ byte: UInt8, into buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: buffer.append(UInt8(ascii: "b"))
        case 0x09: buffer.append(UInt8(ascii: "t"))
        case 0x0A: buffer.append(UInt8(ascii: "n"))
        case 0x0C: buffer.append(UInt8(ascii: "f"))
        case 0x0D: buffer.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): buffer.append(byte)
        default:
            append("u00", to: &buffer)
            buffer.append(hexadecimal(byte >> 4))
            buffer.append(hexadecimal(byte & 0x0F))
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    private static func append(_ text: StaticString, to buffer: inout [UInt8]) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
