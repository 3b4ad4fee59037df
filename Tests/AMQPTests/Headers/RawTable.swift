import CRabbitMQ
import Foundation
import ServiceRuntime
import TestSupport

@testable import AMQP

/// Tables written byte by byte, with any hostile content.
enum RawTable {
    /// Whether this librabbitmq reads any depth; from 0.14 on, it rejects more than 100 levels.
    static let canBeDeep = amqp_version_number() < 0x000e_0000

    /// Reads the entries of a table (without its length) in the same way as a received header.
    ///
    /// It uses a thread like a connection's, because librabbitmq recurses.
    static func read(_ entries: [UInt8]) throws -> FieldTable {
        nonisolated(unsafe) var result: Result<FieldTable, any Error> = .failure(Unexpected("the thread did not run"))
        let done = DispatchSemaphore(value: 0)
        NativeThread.start(named: "raw-table", stackSize: BrokerConnection.stackSize) {
            result = Result { try decode(entries) }
            done.signal()
        }
        done.wait()
        return try result.get()
    }

    private static func decode(_ entries: [UInt8]) throws -> FieldTable {
        var bytes = long(entries)
        let pool = UnsafeMutablePointer<amqp_pool_t>.allocate(capacity: 1)
        init_amqp_pool(pool, 4096)
        defer {
            empty_amqp_pool(pool)
            pool.deallocate()
        }
        return try bytes.withUnsafeMutableBytes { room in
            var table = amqp_table_t()
            var offset = 0
            let status = amqp_decode_table(
                amqp_bytes_t(len: room.count, bytes: room.baseAddress),
                pool,
                &table,
                &offset
            )
            guard status == AMQP_STATUS_OK.rawValue else { throw Unexpected("status \(status)") }
            return FieldTableDecoder.table(table)
        }
    }

    /// Returns an entry with a name, a kind and a payload.
    static func entry(_ name: String, _ value: FieldValue) -> [UInt8] {
        guard case .int8(let number) = value else { return [] }
        return [UInt8(name.utf8.count)] + Array(name.utf8) + [FieldKind.int8.rawValue, UInt8(bitPattern: number)]
    }

    /// Returns an entry whose payload has a length: an array, a table, a string or bytes.
    static func entry(_ name: String, _ kind: FieldKind, _ payload: [UInt8]) -> [UInt8] {
        [UInt8(name.utf8.count)] + Array(name.utf8) + [kind.rawValue] + long(payload)
    }

    /// Returns `levels` nested tables under the name "n", with a void in the innermost one.
    static func nested(levels: Int) -> [UInt8] {
        let innermost = [1, UInt8(ascii: "n"), FieldKind.void.rawValue]
        return wrapped(innermost, levels: levels - 1) { [1, UInt8(ascii: "n"), FieldKind.table.rawValue] + length($0) }
    }

    /// Returns `levels` nested arrays, the outermost named "n".
    static func nestedArrays(levels: Int) -> [UInt8] {
        let arrays = wrapped([FieldKind.void.rawValue], levels: levels - 1) { [FieldKind.array.rawValue] + length($0) }
        return entry("n", .array, arrays)
    }

    /// Prepends the heads in one pass, from the innermost outwards.
    private static func wrapped(_ innermost: [UInt8], levels: Int, _ head: (Int) -> [UInt8]) -> [UInt8] {
        var heads: [[UInt8]] = []
        var size = innermost.count
        for _ in 0..<max(0, levels) {
            heads.append(head(size))
            size += heads[heads.count - 1].count
        }
        return heads.reversed().flatMap { $0 } + innermost
    }

    static func long(_ payload: [UInt8]) -> [UInt8] { length(payload.count) + payload }

    static func length(_ count: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) }
    }
}

/// Random values.
enum RandomFields {
    static func table(_ chance: inout SeededChance, depth: Int) -> FieldTable {
        FieldTable(
            (0..<Int.random(in: 0...4, using: &chance)).map { _ in
                .init(name(&chance), value(&chance, depth: depth))
            }
        )
    }

    /// Returns any name except those of the two headers that the broker reads, because it checks their types.
    private static func name(_ chance: inout SeededChance) -> String {
        let name = text(&chance)
        return ["CC", "BCC"].contains(name) ? "" : name
    }

    static func value(_ chance: inout SeededChance, depth: Int) -> FieldValue {
        switch Int.random(in: 0..<(depth < 16 ? 18 : 16), using: &chance) {
        case 0: .boolean(Bool.random(using: &chance))
        case 1: .int8(.random(in: .min ... .max, using: &chance))
        case 2: .uint8(.random(in: .min ... .max, using: &chance))
        case 3: .int16(.random(in: .min ... .max, using: &chance))
        case 4: .uint16(.random(in: .min ... .max, using: &chance))
        case 5: .int32(.random(in: .min ... .max, using: &chance))
        case 6: .uint32(.random(in: .min ... .max, using: &chance))
        case 7: .int64(.random(in: .min ... .max, using: &chance))
        case 8: .uint64(.random(in: .min ... .max, using: &chance))
        case 9: .float(.random(in: -1e6...1e6, using: &chance))
        case 10: .double(.random(in: -1e9...1e9, using: &chance))
        case 11:
            .decimal(
                scale: .random(in: .min ... .max, using: &chance),
                value: .random(in: .min ... .max, using: &chance)
            )
        case 12: .timestamp(.random(in: .min ... .max, using: &chance))
        case 13: .void
        case 14: .bytes(bytes(&chance))
        case 15: .string(text(&chance))
        case 16: .array((0..<Int.random(in: 0...3, using: &chance)).map { _ in value(&chance, depth: depth + 1) })
        default: .table(table(&chance, depth: depth + 1))
        }
    }

    /// Returns any bytes, read as text.
    static func text(_ chance: inout SeededChance) -> String {
        bytes(&chance).withUnsafeBytes { String(wire: $0) }
    }

    static func bytes(_ chance: inout SeededChance) -> [UInt8] {
        (0..<Int.random(in: 0...12, using: &chance)).map { _ in UInt8.random(in: 0...255, using: &chance) }
    }

    /// Returns a byte that often has a meaning in the protocol.
    static func hostileByte(_ chance: inout SeededChance) -> UInt8 {
        let letters = Array("FASxtlLdDTIV".utf8) + [0, 0, 0, 1, 2, 5, 255]
        return Bool.random(using: &chance)
            ? letters[Int.random(in: 0..<letters.count, using: &chance)] : UInt8.random(in: 0...255, using: &chance)
    }
}

extension FieldTable {
    /// The headers as RabbitMQ rewrites them.
    ///
    /// They are sorted by name, byte by byte, and the first entry of each name is kept; 64-bit numbers become signed.
    /// Nested tables keep their order. Before 3.13, RabbitMQ does so only in quorum queues, and keeps duplicate names.
    var rewritten: FieldTable {
        var seen: Set<[UInt8]> = []
        let named = signed.entries.map { entry in (name: entry.name.withWireBytes { Array($0) }, entry: entry) }
        let first = named.filter { seen.insert($0.name).inserted }
        return FieldTable(first.sorted { $0.name.lexicographicallyPrecedes($1.name) }.map(\.entry))
    }

    fileprivate var signed: FieldTable {
        FieldTable(entries.map { .init($0.name, $0.value.signed) })
    }
}

extension FieldValue {
    fileprivate var signed: FieldValue {
        switch self {
        case .uint64(let number): .int64(Int64(bitPattern: number))
        case .array(let values): .array(values.map(\.signed))
        case .table(let table): .table(table.signed)
        default: self
        }
    }
}
