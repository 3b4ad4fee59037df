/// A growing memory buffer for JSON text.
///
/// It copies without the checks that an array makes before each append.
///
/// The output is the canonical form that ``JSONWriter`` describes.
package struct JSONBuffer: ~Copyable {
    private var base: UnsafeMutablePointer<UInt8>
    package private(set) var count = 0
    private var capacity: Int

    package init(capacity: Int) {
        self.capacity = max(64, capacity)
        base = .allocate(capacity: self.capacity)
    }

    deinit {
        base.deallocate()
    }

    /// The written bytes, in an array of exactly that size.
    package var array: [UInt8] { Array(UnsafeBufferPointer(start: base, count: count)) }

    /// Runs `body` on the written bytes; the pointer is valid only during the call.
    package func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        body(UnsafeBufferPointer(start: base, count: count))
    }

    /// The last written byte; `nil` if the buffer is empty.
    package var last: UInt8? { count == 0 ? nil : base[count - 1] }

    @inline(__always)
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base[count] = byte
        count += 1
    }

    @inline(__always)
    package mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        reserve(bytes.count)
        if let start = bytes.baseAddress { (base + count).update(from: start, count: bytes.count) }
        count += bytes.count
    }

    /// Appends constant text without escaping.
    package mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(_ number: Int64) {
        var digits = String(number)
        digits.withUTF8 { append($0) }
    }

    /// Appends a quoted string of UTF-8 bytes.
    package mutating func append(quoting bytes: UnsafeBufferPointer<UInt8>) {
        reserve(bytes.count + 2)
        append(UInt8(ascii: "\""))
        var start = 0
        while true {
            let end = EscapeScanner.end(in: bytes, from: start)
            append(UnsafeBufferPointer(rebasing: bytes[start..<end]))
            guard end < bytes.count else { break }
            escape(bytes[end])
            start = end + 1
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends a quoted string.
    package mutating func append(_ text: String) {
        text.withBytes { append(quoting: $0) }
    }

    private mutating func escape(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
        default:
            append("u00" as StaticString)
            append(Self.hexadecimal(byte >> 4))
            append(Self.hexadecimal(byte & 0x0F))
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }

    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if count + more > capacity { grow(by: more) }
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: base, count: count)
        base.deallocate()
        base = larger
    }
}

extension JSONBuffer {
    package mutating func append(_ value: JSONValue) {
        switch value {
        case .null: append("null" as StaticString)
        case .bool(let flag): append(flag ? "true" : "false" as StaticString)
        case .number(let number): number.text.withBytes { append($0) }
        case .string(let text): append(text)
        case .array(let elements): append(elements)
        case .object(let object): append(object)
        }
    }

    /// Appends an object with sorted keys.
    package mutating func append(_ object: JSONObject) {
        append(UInt8(ascii: "{"))
        object.withPlacesByKey { places in
            for (position, place) in places.enumerated() {
                if position > 0 { append(UInt8(ascii: ",")) }
                append(object.members[place].key)
                append(UInt8(ascii: ":"))
                append(object.members[place].value)
            }
        }
        append(UInt8(ascii: "}"))
    }

    private mutating func append(_ elements: [JSONValue]) {
        append(UInt8(ascii: "["))
        for index in elements.indices {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(elements[index])
        }
        append(UInt8(ascii: "]"))
    }
}
