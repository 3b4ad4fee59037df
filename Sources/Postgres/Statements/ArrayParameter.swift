/// A column of a batch whose elements are already in their wire form.
///
/// It is filled in one pass over the data, at the cost of one copy of the bytes and without an array of values. A value
/// that cannot be sent (a NUL in a text, a number out of range, a value of another kind) is reported when the statement
/// is run, as with any other parameter.
package struct ArrayParameter: Sendable {
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
    /// Memory for the elements, which is larger than their bytes.
    private var wire: [UInt8]
    /// The number of bytes of the elements.
    private var end = 0
    private(set) var hasNulls = false
    /// The first reason for which it cannot be sent.
    private(set) var fault: EncodingFault?

    /// Creates an empty column and reserves memory for `count` elements of about `width` bytes.
    package init(_ element: Element, expecting count: Int = 0, width: Int = 8) {
        self.element = element
        wire = Array(repeating: 0, count: max(0, count) * (max(0, width) + 4))
    }

    /// The elements as in the binary form of an array, each after its length.
    var elements: ArraySlice<UInt8> { wire[..<end] }

    package mutating func appendNull() {
        count += 1
        hasNulls = true
        extend(by: 4) { $0.storeBytes(of: Int32(-1).bigEndian, as: Int32.self) }
    }

    package mutating func append(_ text: String?) {
        guard let text else { return appendNull() }
        let appended: Void? = text.utf8.withContiguousStorageIfAvailable { append(utf8: UnsafeRawBufferPointer($0)) }
        if appended == nil { append(copyOf: text) }
    }

    /// Appends a text whose bytes are not contiguous.
    ///
    /// It is a call, because its copy would otherwise retain every text.
    @inline(never)
    private mutating func append(copyOf text: String) {
        Array(text.utf8).withUnsafeBytes { append(utf8: $0) }
    }

    /// Appends the UTF-8 of a JSON value, for `json`, `jsonb` or text.
    package mutating func append(json: [UInt8]?) {
        guard let json else { return appendNull() }
        json.withUnsafeBytes { append(utf8: $0) }
    }

    package mutating func append(bytes: [UInt8]?) {
        guard let bytes else { return appendNull() }
        bytes.withUnsafeBytes { append(raw: $0) }
    }

    package mutating func append(raw bytes: UnsafeRawBufferPointer) {
        if element != .bytea { refuse(.mismatch) }
        add(bytes)
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

    /// Appends the bytes of a text.
    package mutating func append(utf8 text: UnsafeBufferPointer<UInt8>?) {
        guard let text else { return appendNull() }
        append(utf8: UnsafeRawBufferPointer(text))
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
        extend(by: head + bytes.count) { place in
            place.storeBytes(of: length.bigEndian, as: Int32.self)
            if let version { place.storeBytes(of: version, toByteOffset: 4, as: UInt8.self) }
            if let start = bytes.baseAddress { (place + head).copyMemory(from: start, byteCount: bytes.count) }
        }
    }

    private mutating func add(_ number: some FixedWidthInteger) {
        count += 1
        let size = number.bitWidth / 8
        extend(by: 4 + size) { place in
            place.storeBytes(of: Int32(size).bigEndian, as: Int32.self)
            place.storeBytes(of: number.bigEndian, toByteOffset: 4, as: type(of: number))
        }
    }

    private mutating func add<Number: FixedWidthInteger>(narrowed number: Number?) {
        if number == nil { refuse(.outOfRange) }
        add(number ?? 0)
    }

    /// Makes room for more bytes, which `write` must fill; appends to an array would take twice the time.
    @inline(__always)
    private mutating func extend(by more: Int, _ write: (UnsafeMutableRawPointer) -> Void) {
        let start = end
        end += more
        if end > wire.count { wire.append(contentsOf: repeatElement(0, count: max(end, 64 + wire.count))) }
        wire.withUnsafeMutableBytes { memory in
            if let base = memory.baseAddress { write(base + start) }
        }
    }

    private mutating func refuse(_ reason: EncodingFault) { fault = fault ?? reason }
}

extension ArrayParameter: Hashable {
    package static func == (one: ArrayParameter, other: ArrayParameter) -> Bool {
        one.element == other.element && one.elements == other.elements && one.fault == other.fault
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(elements) }
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
        column.elements.withUnsafeBytes { append($0) }
    }
}
