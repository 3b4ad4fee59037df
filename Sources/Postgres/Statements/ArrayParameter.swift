/// A column of a batch whose elements are in their wire form already.
///
/// Filled in one walk over what is to be written, it costs a copy of the bytes and no array of values. What cannot be sent
/// (a NUL in a text, a number out of range, a value of another kind) is told when the statement is run, as with any other
/// parameter.
package struct ArrayParameter: Sendable, Hashable {
    /// What the elements are; the parameter's type in the statement must be an array of that.
    package enum Element: Sendable, Hashable {
        /// Also for `varchar`, `json` and whatever else has its text for a binary form.
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
    /// The elements as an array's binary form has them, each after its length.
    private(set) var wire: [UInt8] = []
    private(set) var hasNulls = false
    /// Why it cannot be sent; the first reason stays.
    private(set) var fault: EncodingFault?

    /// `count` elements of about `width` bytes are expected.
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

    /// UTF-8 of a JSON value, for `json`, `jsonb` or text.
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

    /// Microseconds since 1970-01-01 UTC.
    package mutating func append(instant: Int64?) {
        guard let instant else { return appendNull() }
        if element != .timestamptz { refuse(.mismatch) }
        add(narrowed: ServerClock.microseconds(since1970: instant))
    }

    private mutating func append(utf8: UnsafeRawBufferPointer) {
        if element != .text, element != .jsonb { refuse(.mismatch) }
        if WireBuffer.holdsNul(utf8) { refuse(.holdsNul) }
        add(utf8, version: element == .jsonb ? WireBuffer.jsonbVersion : nil)
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer, version: UInt8? = nil) {
        count += 1
        guard let length = Int32(exactly: bytes.count + (version == nil ? 0 : 1)) else { return refuse(.tooLarge) }
        write(length)
        if let version { wire.append(version) }
        wire.append(contentsOf: bytes)
    }

    private mutating func add(_ number: some FixedWidthInteger) {
        count += 1
        write(Int32(number.bitWidth / 8))
        write(number)
    }

    private mutating func add<Number: FixedWidthInteger>(narrowed number: Number?) {
        if number == nil { refuse(.outOfRange) }
        add(number ?? 0)
    }

    private mutating func write(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { wire.append(contentsOf: $0) }
    }

    private mutating func refuse(_ reason: EncodingFault) {
        fault = fault ?? reason
    }
}

extension ArrayParameter {
    /// Whether the elements are what an array of `type` has.
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
