import Glibc

/// Growing memory that is written in PostgreSQL's binary form (big-endian, as its `*_recv` functions read).
///
/// It owns raw memory instead of an array, because libpq requires an address even for an empty value (a null pointer is
/// SQL NULL), and because a batch is one run of copies without a bounds check for each byte.
struct WireBuffer: ~Copyable {
    private(set) var base: UnsafeMutableRawPointer
    private(set) var count = 0
    private var capacity: Int

    /// The server's `MaxAllocSize` in bytes, which no value may exceed.
    static let largestValue = 0x3fff_ffff

    init(capacity: Int = 4096) {
        base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
    }

    deinit { base.deallocate() }

    /// Removes the content and releases the memory above `limit` that one large batch required.
    mutating func removeAll(keeping limit: Int) {
        count = 0
        if capacity > limit { move(to: limit) }
    }

    mutating func append(_ source: UnsafeRawBufferPointer) {
        reserve(source.count)
        if let start = source.baseAddress { (base + count).copyMemory(from: start, byteCount: source.count) }
        count += source.count
    }

    mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        reserve(MemoryLayout<Number>.size)
        (base + count).storeBytes(of: number.bigEndian, as: Number.self)
        count += MemoryLayout<Number>.size
    }

    /// Writes the length before the data that `body` appends, as for every element of an array.
    mutating func appendMeasured(_ body: (inout WireBuffer) throws(EncodingFault) -> Void) throws(EncodingFault) {
        let start = count
        append(Int32(0))
        try body(&self)
        let length = count - start - 4
        guard length <= Self.largestValue else { throw .tooLarge }
        (base + start).storeBytes(of: Int32(clamping: length).bigEndian, as: Int32.self)
    }

    private mutating func reserve(_ more: Int) {
        if count + more > capacity { move(to: max(capacity * 2, count + more)) }
    }

    private mutating func move(to size: Int) {
        let larger = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        larger.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = larger
        capacity = size
    }
}

/// The binary forms of single values.
///
/// Each function rejects an unsuitable type.
extension WireBuffer {
    /// The version at the start of `jsonb`'s binary form.
    static let jsonbVersion: UInt8 = 1

    mutating func append(text: String, as type: ServerType) throws(EncodingFault) {
        guard type.isTextual || type == .jsonb else { throw .mismatch }
        if type == .jsonb { append(Self.jsonbVersion) }
        var text = text
        let isClean = text.withUTF8 { utf8 in
            guard !Self.holdsNul(UnsafeRawBufferPointer(utf8)) else { return false }
            append(UnsafeRawBufferPointer(utf8))
            return true
        }
        if !isClean { throw .holdsNul }
    }

    mutating func append(json: [UInt8], as type: ServerType) throws(EncodingFault) {
        guard type == .jsonb || type == .json || type == .text else { throw .mismatch }
        if type == .jsonb { append(Self.jsonbVersion) }
        let isClean = json.withUnsafeBytes { bytes in
            guard !Self.holdsNul(bytes) else { return false }
            append(bytes)
            return true
        }
        if !isClean { throw .holdsNul }
    }

    mutating func append(bytes: [UInt8], as type: ServerType) throws(EncodingFault) {
        guard type == .bytea else { throw .mismatch }
        bytes.withUnsafeBytes { append($0) }
    }

    mutating func append(integer: Int64, as type: ServerType) throws(EncodingFault) {
        switch type {
        case .int8:
            append(integer)
        case .int4:
            guard let narrow = Int32(exactly: integer) else { throw .outOfRange }
            append(narrow)
        case .int2:
            guard let narrow = Int16(exactly: integer) else { throw .outOfRange }
            append(narrow)
        case .oidType:
            guard let narrow = UInt32(exactly: integer) else { throw .outOfRange }
            append(narrow)
        default:
            throw .mismatch
        }
    }

    mutating func append(double: Double, as type: ServerType) throws(EncodingFault) {
        guard type == .float8 else { throw .mismatch }
        append(double.bitPattern)
    }

    mutating func append(boolean: Bool, as type: ServerType) throws(EncodingFault) {
        guard type == .boolean else { throw .mismatch }
        append(UInt8(boolean ? 1 : 0))
    }

    mutating func append(instant: Int64, as type: ServerType) throws(EncodingFault) {
        guard type == .timestamptz else { throw .mismatch }
        guard let microseconds = PostgresEpoch.microseconds(since1970: instant) else { throw .outOfRange }
        append(microseconds)
    }

    static func holdsNul(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return false }
        return memchr(start, 0, bytes.count) != nil
    }
}

/// Arrays: dimensions, a flag for NULLs, the element's type, length and lower bound, then each element with its length.
extension WireBuffer {
    mutating func appendHeader(_ length: Int32, hasNulls: Bool, of type: ServerType) {
        append(Int32(length == 0 ? 0 : 1))
        append(Int32(hasNulls ? 1 : 0))
        append(type.oid)
        if length == 0 { return }
        append(length)
        append(Int32(1))
    }

    mutating func append<Element>(
        array: [Element?],
        of type: ServerType,
        _ write: (inout WireBuffer, Element) throws(EncodingFault) -> Void
    ) throws(EncodingFault) {
        guard let length = Int32(exactly: array.count) else { throw .tooLarge }
        appendHeader(length, hasNulls: array.contains { $0 == nil }, of: type)
        for element in array {
            guard let element else {
                append(Int32(-1))
                continue
            }
            try appendMeasured { (buffer) throws(EncodingFault) in try write(&buffer, element) }
        }
    }
}

/// Conversion to PostgreSQL's timestamps, which count microseconds from the year 2000 and reserve the extremes for the
/// infinities.
enum PostgresEpoch {
    /// Microseconds from 1970-01-01 to 2000-01-01.
    private static let offset: Int64 = 946_684_800_000_000

    /// Returns PostgreSQL's timestamp; `nil` if it would overflow or mean an infinity.
    static func microseconds(since1970 instant: Int64) -> Int64? {
        let (microseconds, overflow) = instant.subtractingReportingOverflow(offset)
        return overflow || isInfinite(microseconds) ? nil : microseconds
    }

    /// Returns the time since 1970; `nil` for `infinity` and `-infinity`, and if the sum would overflow.
    static func since1970(_ microseconds: Int64) -> Int64? {
        let (instant, overflow) = microseconds.addingReportingOverflow(offset)
        return overflow || isInfinite(microseconds) ? nil : instant
    }

    private static func isInfinite(_ microseconds: Int64) -> Bool {
        microseconds == .max || microseconds == .min
    }
}
