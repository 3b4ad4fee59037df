import CRabbitMQ

/// Memory for the arguments of one call to librabbitmq.
///
/// Strings and tables are copied into it, and all of it is recycled together.
///
/// Its pointers are valid until `recycle()`. Confined to one thread, like the connection that it serves. It also
/// enforces the protocol's limits, because librabbitmq writes a length modulo 256 and then all of the bytes.
final class WireArena {
    private let pool: UnsafeMutablePointer<amqp_pool_t>

    init() {
        pool = .allocate(capacity: 1)
        init_amqp_pool(pool, 16384)
    }

    deinit {
        empty_amqp_pool(pool)
        pool.deallocate()
    }

    func recycle() { recycle_amqp_pool(pool) }

    /// Copies text of at most 255 bytes: names, keys and the properties of a message.
    func short(_ text: String, _ what: @autoclosure () -> String) throws(AMQPError) -> amqp_bytes_t {
        let bytes = try long(text)
        guard bytes.len <= 255 else {
            throw AMQPError(.invalidArgument, "\(what()) is longer than the 255 bytes that AMQP allows")
        }
        return bytes
    }

    func long(_ text: String) throws(AMQPError) -> amqp_bytes_t {
        guard let copy = text.withWireBytes(copied) else { throw Self.outOfMemory }
        return copy
    }

    func long(_ bytes: [UInt8]) throws(AMQPError) -> amqp_bytes_t {
        guard let copy = bytes.withUnsafeBytes(copied) else { throw Self.outOfMemory }
        return copy
    }

    /// Allocates memory for `count` elements, or returns `nil` if `count` is 0.
    func array<Element>(of _: Element.Type, count: Int) throws(AMQPError) -> UnsafeMutablePointer<Element>? {
        guard count > 0 else { return nil }
        guard let room = amqp_pool_alloc(pool, count * MemoryLayout<Element>.stride) else { throw Self.outOfMemory }
        return room.bindMemory(to: Element.self, capacity: count)
    }

    private func copied(_ bytes: UnsafeRawBufferPointer) -> amqp_bytes_t? {
        guard let source = bytes.baseAddress, !bytes.isEmpty else { return amqp_bytes_t(len: 0, bytes: nil) }
        guard let room = amqp_pool_alloc(pool, bytes.count) else { return nil }
        room.copyMemory(from: source, byteCount: bytes.count)
        return amqp_bytes_t(len: bytes.count, bytes: room)
    }

    private static var outOfMemory: AMQPError { AMQPError(.invalidArgument, "no memory to write a message or a table") }
}
