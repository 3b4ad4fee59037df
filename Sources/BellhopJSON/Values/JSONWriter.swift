/// Writes JSON in one canonical form.
///
/// Keys are in the order of their bytes, there is no white space, only mandatory escapes are used, and numbers keep the
/// text of their source.
///
/// The same value always gives the same bytes, so that they can be hashed and compared. Parsing the bytes gives an
/// equal value.
public enum JSONWriter {
    /// Returns the canonical bytes of a value.
    public static func canonicalBytes(of value: JSONValue) -> [UInt8] {
        var json = JSONBuffer(capacity: 256)
        json.append(value)
        return json.array
    }

    /// Appends the canonical bytes of a value.
    public static func write(_ value: JSONValue, into buffer: inout [UInt8]) {
        var json = JSONBuffer(capacity: 256)
        json.append(value)
        json.withBytes { buffer.append(contentsOf: $0) }
    }

    /// Appends a quoted string.
    public static func write(_ text: String, into buffer: inout [UInt8]) {
        var json = JSONBuffer(capacity: 2 + text.utf8.count)
        json.append(text)
        json.withBytes { buffer.append(contentsOf: $0) }
    }

    /// Appends an object with sorted keys.
    public static func write(_ object: JSONObject, into buffer: inout [UInt8]) {
        write(.object(object), into: &buffer)
    }
}

/// A growing memory buffer for JSON text.
///
/// It copies without the checks that an array makes before each append.
///
/// The output is the canonical form that ``JSONWriter`` describes.
@usableFromInline
package struct JSONBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @usableFromInline package internal(set) var count = 0
    @usableFromInline var capacity: Int
    /// Whether the memory was allocated by the buffer.
    private var isAllocated: Bool

    package init(capacity: Int) {
        self.capacity = max(64, capacity)
        base = .allocate(capacity: self.capacity)
        isAllocated = true
    }

    /// Creates a buffer that begins in `memory` and allocates only if the text is longer.
    @usableFromInline
    package init(in memory: UnsafeMutableBufferPointer<UInt8>) {
        base = memory.baseAddress ?? .allocate(capacity: 1)
        capacity = memory.count
        isAllocated = memory.baseAddress == nil
    }

    deinit { if isAllocated { base.deallocate() } }

    /// Runs `body` with an empty buffer that begins on the stack, for text that is copied or read immediately.
    @inlinable
    package static func withScratch<Result>(_ body: (inout JSONBuffer) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { memory in
            var json = JSONBuffer(in: memory)
            return body(&json)
        }
    }

    /// The written bytes, in an array of exactly that size.
    package var array: [UInt8] { Array(UnsafeBufferPointer(start: base, count: count)) }

    /// Runs `body` on the written bytes; the pointer is valid only during the call.
    @inlinable
    package func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        body(UnsafeBufferPointer(start: base, count: count))
    }

    /// The last written byte; `nil` if the buffer is empty.
    @inlinable package var last: UInt8? { count == 0 ? nil : base[count - 1] }

    @inlinable
    @inline(__always)
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base[count] = byte
        count += 1
    }

    @inlinable
    @inline(__always)
    package mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let start = bytes.baseAddress { append(start, bytes.count) }
    }

    @inlinable
    @inline(__always)
    mutating func append(_ start: UnsafePointer<UInt8>, _ length: Int) {
        reserve(length)
        (base + count).update(from: start, count: length)
        count += length
    }

    /// Appends constant text without escaping.
    @inlinable
    package mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(_ number: Int64) {
        var digits = String(number)
        digits.withUTF8 { append($0) }
    }

    /// Appends a quoted string of UTF-8 bytes.
    @usableFromInline
    package mutating func append(quoting bytes: UnsafeBufferPointer<UInt8>) {
        append(UInt8(ascii: "\""))
        var rest = bytes
        while true {
            reserve(rest.count)
            let copied = EscapeScanner.copy(rest, to: base + count)
            count += copied
            guard copied < rest.count else { break }
            escape(rest[copied])
            rest = UnsafeBufferPointer(rebasing: rest[(copied + 1)...])
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends a quoted string.
    @inlinable
    package mutating func append(_ text: String) { text.withBytes { append(quoting: $0) } }

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

    @inlinable
    @inline(__always)
    mutating func reserve(_ more: Int) { if count + more > capacity { grow(by: more) } }

    @inline(never)
    @usableFromInline
    mutating func grow(by more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: base, count: count)
        if isAllocated { base.deallocate() }
        base = larger
        isAllocated = true
    }

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

extension JSONObject {
    /// The canonical JSON text.
    package var canonicalBytes: [UInt8] { JSONWriter.canonicalBytes(of: .object(self)) }
}

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
            let found = escapes(in: word)
            guard found == 0 else { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < bytes.count, !mustBeEscaped(bytes[index]) { index += 1 }
        return index
    }

    /// Copies the bytes before the next quote, backslash or control character, and returns their number.
    ///
    /// The bytes after them in `target`, up to the length of `bytes`, may be overwritten.
    @inline(__always)
    static func copy(_ bytes: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>) -> Int {
        let source = UnsafeRawBufferPointer(bytes)
        var index = 0
        while bytes.count - index >= 8 {
            let word = source.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            UnsafeMutableRawPointer(target + index).storeBytes(of: word, as: UInt64.self)
            let found = escapes(in: word)
            guard found == 0 else { return index + found.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < bytes.count, !mustBeEscaped(bytes[index]) {
            target[index] = bytes[index]
            index += 1
        }
        return index
    }

    /// Sets the top bit of the first byte that must be escaped, and possibly of later ones; zero if there is none.
    @inline(__always)
    private static func escapes(in word: UInt64) -> UInt64 {
        (zeros(word ^ (ones &* 0x22)) | zeros(word ^ (ones &* 0x5C)) | ((word &- ones &* 0x20) & ~word)) & tops
    }

    /// Sets the top bit of each byte that is zero; borrows may set others.
    @inline(__always)
    private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }

    @inline(__always)
    private static func mustBeEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }
}
