/// The body of a request, or a mail, and the part of it that the library underneath has taken.
struct OutgoingBytes {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    var count: Int { bytes.count }
    var isAtStart: Bool { offset == 0 }
    var isOver: Bool { offset == bytes.count }

    /// Copies the next bytes and returns their number; 0 at the end.
    mutating func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - offset)
        bytes.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset...].prefix(count))) }
        offset += count
        return count
    }
}
