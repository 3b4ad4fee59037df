import CRabbitMQ

/// Converts values into librabbitmq's tables, inside an arena.
struct FieldTableEncoder {
    let arena: WireArena

    /// The wire size in bytes of everything written so far.
    private(set) var size = 0

    init(_ arena: WireArena) { self.arena = arena }

    /// Writes a table.
    ///
    /// Throws if a name is longer than 255 bytes, or if the nesting is deeper than reading allows.
    mutating func table(_ table: FieldTable) throws(AMQPError) -> amqp_table_t {
        try write(table, depth: 1)
    }

    private mutating func write(_ table: FieldTable, depth: Int) throws(AMQPError) -> amqp_table_t {
        guard depth <= FieldTableDecoder.depthLimit else {
            throw AMQPError(.invalidArgument, "a table is nested deeper than \(FieldTableDecoder.depthLimit) levels")
        }
        let room = try arena.array(of: amqp_table_entry_t.self, count: table.entries.count)
        size += 4
        for (index, entry) in table.entries.enumerated() {
            let key = try arena.short(entry.name, "the name of a header")
            size += 1 + key.len
            room?[index] = amqp_table_entry_t(key: key, value: try write(entry.value, depth: depth))
        }
        return amqp_table_t(num_entries: Int32(clamping: table.entries.count), entries: room)
    }

    private mutating func write(_ array: [FieldValue], depth: Int) throws(AMQPError) -> amqp_array_t {
        guard depth <= FieldTableDecoder.depthLimit else {
            throw AMQPError(.invalidArgument, "an array is nested deeper than \(FieldTableDecoder.depthLimit) levels")
        }
        let room = try arena.array(of: amqp_field_value_t.self, count: array.count)
        size += 4
        for (index, value) in array.enumerated() { room?[index] = try write(value, depth: depth) }
        return amqp_array_t(num_entries: Int32(clamping: array.count), entries: room)
    }

    private mutating func write(_ value: FieldValue, depth: Int) throws(AMQPError) -> amqp_field_value_t {
        var field = amqp_field_value_t()
        size += 1
        switch value {
        case .string(let text): field.set(.string, try sized(arena.long(text)))
        case .bytes(let bytes): field.set(.bytes, try sized(arena.long(bytes)))
        case .array(let values):
            field.kind = FieldKind.array.rawValue
            field.value.array = try write(values, depth: depth + 1)
        case .table(let table):
            field.kind = FieldKind.table.rawValue
            field.value.table = try write(table, depth: depth + 1)
        default: size += field.set(scalar: value)
        }
        return field
    }

    private mutating func sized(_ bytes: amqp_bytes_t) -> amqp_bytes_t {
        size += 4 + bytes.len
        return bytes
    }
}

extension amqp_field_value_t {
    fileprivate mutating func set(_ kind: FieldKind, _ bytes: amqp_bytes_t) {
        self.kind = kind.rawValue
        value.bytes = bytes
    }

    /// Sets a value without parts and returns its wire size, excluding the letter of its kind.
    fileprivate mutating func set(scalar: FieldValue) -> Int {
        let (kind, size) = scalar.scalarLayout
        self.kind = kind.rawValue
        switch scalar {
        case .boolean(let flag): value.boolean = flag ? 1 : 0
        case .int8(let number): value.i8 = number
        case .uint8(let number): value.u8 = number
        case .int16(let number): value.i16 = number
        case .uint16(let number): value.u16 = number
        case .int32(let number): value.i32 = number
        case .uint32(let number): value.u32 = number
        case .int64(let number): value.i64 = number
        case .uint64(let number), .timestamp(let number): value.u64 = number
        case .float(let number): value.f32 = number
        case .double(let number): value.f64 = number
        case .decimal(let scale, let number): value.decimal = amqp_decimal_t(decimals: scale, value: number)
        case .string, .bytes, .array, .table, .void, .omitted: break
        }
        return size
    }
}

extension FieldValue {
    /// The kind and the wire size of a value without parts.
    fileprivate var scalarLayout: (FieldKind, size: Int) {
        switch self {
        case .boolean: (.boolean, 1)
        case .int8: (.int8, 1)
        case .uint8: (.uint8, 1)
        case .int16: (.int16, 2)
        case .uint16: (.uint16, 2)
        case .int32: (.int32, 4)
        case .uint32: (.uint32, 4)
        case .int64: (.int64, 8)
        case .uint64: (.uint64, 8)
        case .float: (.float, 4)
        case .double: (.double, 8)
        case .decimal: (.decimal, 5)
        case .timestamp: (.timestamp, 8)
        case .string, .bytes, .array, .table, .void, .omitted: (.void, 0)
        }
    }
}
