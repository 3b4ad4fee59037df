import CRabbitMQ
import TestSupport
import Testing

@testable import AMQP

@Suite("Header tables")
struct FieldTableTests {
    /// Values of every type, with their extremes.
    static let everything: FieldTable = [
        "boolean": true, "int8": .int8(.min), "uint8": .uint8(.max), "int16": .int16(.min), "uint16": .uint16(.max),
        "int32": .int32(.min), "uint32": .uint32(.max), "int64": .int64(.min), "uint64": .uint64(.max),
        "float": .float(1.5), "double": .double(-.infinity), "decimal": .decimal(scale: 255, value: .max),
        "string": "grüße\0!", "empty": "", "bytes": .bytes([0, 255]), "timestamp": .timestamp(.max), "void": .void,
        "array": .array([1, "two", .array([]), .table(["x": .void])]), "table": .table(["deep": .table([:])]),
        "": "unnamed",
    ]

    @Test("values of every type are unchanged after writing and reading, to the bit")
    func roundTrip() throws {
        #expect(try wire(Self.everything).read == Self.everything)
    }

    @Test("the predicted size is exact")
    func size() throws {
        let (_, foretold, bytes) = try wire(Self.everything)
        #expect(foretold == bytes.count)
        let reencoded = try wire(try wire(Self.everything).read).bytes
        #expect(reencoded == bytes)
    }

    @Test("a signalling NaN keeps its bits")
    func notANumber() throws {
        let value = FieldValue.double(Double(bitPattern: 0x7ff0_0000_0000_0001))
        guard case .double(let read) = try wire(["x": value]).read["x"] else { throw Unexpected("not a double") }
        #expect(read.isNaN)
    }

    @Test(
        "values nested deeper than 16 levels are marked, and the rest is read",
        arguments: [15, 16, 17, RawTable.canBeDeep ? 5000 : 90]
    )
    func depth(levels: Int) throws {
        let table = RawTable.nested(levels: levels) + RawTable.entry("after", .int8(1))
        let read = try RawTable.read(table)
        #expect(read["after"] == .int8(1))
        var depth = 1
        var value = read["n"]
        while case .table(let inner) = value {
            depth += 1
            value = inner["n"]
        }
        #expect(depth == min(levels, 16))
        #expect(value == (levels <= 16 ? .void : .omitted))
    }

    @Test("nested arrays are bounded as well")
    func nestedArrays() throws {
        let read = try RawTable.read(RawTable.nestedArrays(levels: RawTable.canBeDeep ? 20_000 : 90))
        var depth = 1
        var value = read["n"]
        while case .array(let inner) = value {
            depth += 1
            value = inner.first
        }
        #expect(depth == 16)
        #expect(value == .omitted)
    }

    @Test("a hundred thousand values are cut at 4,096, with a mark")
    func width() throws {
        let body = [UInt8](repeating: FieldKind.void.rawValue, count: 100_000)
        let read = try RawTable.read(RawTable.entry("wide", .array, body))
        guard case .array(let values) = read["wide"] else { throw Unexpected("no array") }
        #expect(values.count == 4096)
        #expect(values.last == .omitted)
        #expect(values.first == .void)
    }

    @Test("the broker's headers are read after any number of values, and the first of duplicate ones counts")
    func behindTheLimit() throws {
        let wide = [UInt8](repeating: FieldKind.void.rawValue, count: 5_000)
        let death = RawTable.entry("x-death", .array, [FieldKind.int8.rawValue, 7])
        let forged = RawTable.entry("x-death", .array, wide)
        let count = RawTable.entry("x-delivery-count", .int8(3))
        let entries = RawTable.entry("x-c", .array, wide) + RawTable.entry("x-d", .int8(1)) + death + forged + count
        let read = try RawTable.read(entries)
        #expect(read["x-death"] == .array([.int8(7)]))
        #expect(read["x-delivery-count"] == .int8(3))
        #expect(read["x-d"] == .omitted)
        #expect(read.isCut)
        let whole = try RawTable.read(RawTable.entry("x-d", .int8(1)) + forged)
        #expect(!whole.isCut)
    }

    @Test("names that are too long and tables that are too deep are not written")
    func unwritable() throws {
        let long = String(repeating: "x", count: 256)
        #expect(throws: AMQPError.self) { try wire(FieldTable([.init(long, 1)])) }
        #expect(throws: AMQPError.self) { try wire(["a": .table(FieldTable([.init(long, 1)]))]) }
        var deep = FieldValue.void
        for _ in 0..<16 { deep = .array([deep]) }
        #expect(throws: AMQPError.self) { try wire(["a": deep]) }
        let error = failure { try wire(["a": .table(["b": .array([deep])])]) }
        #expect(error?.code == .invalidArgument)
    }

    @Test("the subscript replaces, appends and removes, and returns the first of two entries")
    func access() {
        var table = FieldTable([.init("a", 1), .init("b", 2), .init("a", 3)])
        #expect(table["a"] == 1)
        table["b"] = "two"
        table["c"] = .void
        #expect(table.entries.map(\.name) == ["a", "b", "a", "c"])
        #expect(table["b"]?.text == "two")
        table["a"] = nil
        #expect(table.entries.map(\.name) == ["b", "c"])
        #expect(table.removing { $0 == "b" } == ["c": .void])
    }

    @Test("integers of every type read as Int, clamped; other types do not")
    func integers() {
        #expect(FieldValue.uint64(1 << 63).integer == Int.max)
        #expect(FieldValue.int64(.min).integer == Int.min)
        #expect(FieldValue.uint8(7).integer == 7)
        #expect(FieldValue.string("7").integer == nil)
        #expect(FieldValue.timestamp(7).integer == nil)
    }

    @Test("random tables are unchanged after writing and reading")
    func randomTables() throws {
        let seed = UInt64.random(in: 1...UInt64.max)
        var chance = SeededChance(seed)
        for _ in 0..<300 {
            let table = RandomFields.table(&chance, depth: 1)
            let (read, foretold, bytes) = try wire(table)
            #expect(read == table, "seed \(seed)")
            #expect(foretold == bytes.count, "seed \(seed)")
        }
    }

    @Test("random bytes as a table are read or rejected, without a crash")
    func randomBytes() {
        let seed = UInt64.random(in: 1...UInt64.max)
        var chance = SeededChance(seed)
        var readable = 0
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...40, using: &chance)).map { _ in RandomFields.hostileByte(&chance) }
            if (try? RawTable.read(bytes)) != nil { readable += 1 }
        }
        #expect(readable > 0, "seed \(seed)")
    }

    /// Returns the values read from librabbitmq's form of a table, the predicted size, and the encoded bytes.
    @discardableResult
    private func wire(_ table: FieldTable) throws -> (read: FieldTable, foretold: Int, bytes: [UInt8]) {
        let arena = WireArena()
        var writer = FieldTableEncoder(arena)
        var raw = try writer.table(table)
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        var offset = 0
        let status = bytes.withUnsafeMutableBytes {
            amqp_encode_table(amqp_bytes_t(len: $0.count, bytes: $0.baseAddress), &raw, &offset)
        }
        guard status == AMQP_STATUS_OK.rawValue else { throw Unexpected("status \(status)") }
        let written = Array(bytes[..<offset])
        return (try RawTable.read(Array(written.dropFirst(4))), writer.size, written)
    }
}
