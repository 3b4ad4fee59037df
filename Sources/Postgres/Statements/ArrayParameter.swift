/// A column of a batch whose elements are already in their wire form.
///
/// It is filled in one pass over the data, at the cost of one copy of the bytes and without an array of values. A value
/// that cannot be sent (a NUL in a text, a number out of range, a value of another kind) is reported when the statement
/// is run, as with any other parameter.
package struct ArrayParameter: Sendable, Hashable {
    /// The kind of the elements; the parameter's type in the statement must be an array of it.
    package enum Element: Sendable, Hashable {
        /// Also for `varchar`, `json` and any other type whose binary form is its text.
        case text
        case bytea
        case jsonb
        case bigint
        case integer
        case smallint
        case boolean
        case timestamptz
    }

    package let element: Element
    package private(set) var count = 0
    /// The elements as in the binary form of an array, each after its length.
    private(set) var wire: [UInt8] = []
    private(set) var hasNulls = false
    /// The first reason for which it cannot be sent.
    private(set) var fault: EncodingFault?

    /// Creates an empty column and reserves memory for `count` elements of about `width` bytes.
    package init(_ element: Element, expecting count: Int = 0, width: Int = 8) {
        self.element = element
        wire.reserveCapacity(max(0, count) * (max(0, width) + 4))
    }

    package mutating func appendNull() {
        count += 1
        hasNulls = true
        write(Int32(-1))
    }

    package mutating func append(_ text: String?) {
        guard var text else { return appendNull() }
        text.withUTF8 { append(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Appends the UTF-8 of a JSON value, for `json`, `jsonb` or text.
    package mutating func append(json: [UInt8]?) {
        guard let json else { return appendNull() }
        json.withUnsafeBytes { append(utf8: $0) }
    }

    package mutating func append(bytes: [UInt8]?) {
        guard let bytes else { return appendNull() }
        if element != .bytea { refuse(.mismatch) }
        bytes.withUnsafeBytes { add($0) }
    }

    package mutating func append(_ number: Int64?) {
        guard let number else { return appendNull() }
        switch element {
        case .bigint: add(number)
        case .integer: add(narrowed: Int32(exactly: number))
        case .smallint: add(narrowed: Int16(exactly: number))
        default: refuse(.mismatch)
        }
    }

    package mutating func append(_ flag: Bool?) {
        guard let flag else { return appendNull() }
        if element != .boolean { refuse(.mismatch) }
        add(UInt8(flag ? 1 : 0))
    }

    /// Appends a time in microseconds since 1970-01-01 UTC.
    package mutating func append(instant: Int64?) {
        guard let instant else { return appendNull() }
        if element != .timestamptz { refuse(.mismatch) }
        add(narrowed: PostgresEpoch.microseconds(since1970: instant))
    }

    private mutating func append(utf8: UnsafeRawBufferPointer) {
        if element != .text, element != .jsonb { refuse(.mismatch) }
        if WireBuffer.holdsNul(utf8) { refuse(.holdsNul) }
        add(utf8, version: element == .jsonb ? WireBuffer.jsonbVersion : nil)
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer, version: UInt8? = nil) {
        count += 1
        let head = version == nil ? 4 : 5
        guard let length = Int32(exactly: bytes.count + head - 4) else { return refuse(.tooLarge) }
        guard bytes.count <= Self.short else {
            write(length)
            if let version { wire.append(version) }
            return wire.append(contentsOf: bytes)
        }
        withUnsafeTemporaryAllocation(byteCount: head + bytes.count, alignment: 4) { memory in
            memory.storeBytes(of: length.bigEndian, as: Int32.self)
            if let version { memory[4] = version }
            UnsafeMutableRawBufferPointer(rebasing: memory[head...]).copyMemory(from: bytes)
            wire.append(contentsOf: memory)
        }
    }

    /// The maximum size of a value that is copied together with its length: one append takes half the time of two.
    private static let short = 256

    private mutating func add(_ number: some FixedWidthInteger) {
        count += 1
        let size = number.bitWidth / 8
        withUnsafeTemporaryAllocation(byteCount: 4 + size, alignment: 4) { bytes in
            bytes.storeBytes(of: Int32(size).bigEndian, as: Int32.self)
            bytes.storeBytes(of: number.bigEndian, toByteOffset: 4, as: type(of: number))
            wire.append(contentsOf: bytes)
        }
    }

    private mutating func add<Number: FixedWidthInteger>(narrowed number: Number?) {
        if number == nil { refuse(.outOfRange) }
        add(number ?? 0)
    }

    private mutating func write(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { wire.append(contentsOf: $0) }
    }

    private mutating func refuse(_ reason: EncodingFault) { fault = fault ?? reason }
}

extension ArrayParameter {
    /// Whether an array of `type` has elements of this kind.
    func fits(_ type: ServerType) -> Bool {
        switch element {
        case .text: type.isTextual
        case .bytea: type == .bytea
        case .jsonb: type == .jsonb
        case .bigint: type == .int8
        case .integer: type == .int4
        case .smallint: type == .int2
        case .boolean: type == .boolean
        case .timestamptz: type == .timestamptz
        }
    }
}

extension WireBuffer {
    mutating func append(_ column: ArrayParameter, of type: ServerType) throws(EncodingFault) {
        if let fault = column.fault { throw fault }
        guard column.fits(type) else { throw .mismatch }
        guard let length = Int32(exactly: column.count) else { throw .tooLarge }
        appendHeader(length, hasNulls: column.hasNulls, of: type)
        column.wire.withUnsafeBytes { append($0) }
    }
}
