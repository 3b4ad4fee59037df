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

    deinit {
        base.deallocate()
    }

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
