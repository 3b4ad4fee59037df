import CRabbitMQ

/// Converts librabbitmq's tables into values, with limits on depth and number.
///
/// Without the limits, a header of 128 KiB could contain a hundred thousand values or twenty thousand levels, at the
/// cost of every consumer of the queue.
///
/// The broker's headers are always read and have a separate limit. The broker sorts a table when it adds to it, so that
/// a producer could otherwise place enough values before these headers to exhaust the limit.
struct FieldTableDecoder {
    static let depthLimit = 16
    static let valueLimit = 4096
    /// The number of values that are read of one header of the broker.
    static let brokerValueLimit = 256

    private var remaining: Int

    /// Reads the headers of one message.
    static func table(_ table: amqp_table_t) -> FieldTable {
        var reader = FieldTableDecoder(remaining: valueLimit)
        var read: [FieldTable.Entry] = []
        var unread = Set(brokerHeaders)
        let entries = UnsafeBufferPointer(start: table.entries, count: Int(clamping: max(0, table.num_entries)))
        read.reserveCapacity(min(entries.count, valueLimit))
        var isFull = false
        for entry in entries {
            if let name = brokerHeaders.first(where: { $0.names(entry.key) }), unread.remove(name) != nil {
                var ofBroker = FieldTableDecoder(remaining: brokerValueLimit)
                read.append(.init(name, ofBroker.next(entry.value, depth: 1) ?? .omitted))
            } else if !isFull {
                let value = reader.next(entry.value, depth: 1)
                isFull = value == nil
                read.append(.init(String(entry.key), value ?? .omitted))
            }
        }
        return FieldTable(read)
    }

    /// The names of the broker's headers.
    ///
    /// If a name occurs several times, the first header is the broker's.
    private static let brokerHeaders = ["x-death", "x-delivery-count", "x-acquired-count"]

    private mutating func read(_ table: amqp_table_t, depth: Int) -> FieldTable {
        let entries = UnsafeBufferPointer(start: table.entries, count: Int(clamping: max(0, table.num_entries)))
        var read: [FieldTable.Entry] = []
        read.reserveCapacity(min(entries.count, remaining))
        for entry in entries {
            guard let value = next(entry.value, depth: depth) else {
                read.append(.init(String(entry.key), .omitted))
                break
            }
            read.append(.init(String(entry.key), value))
        }
        return FieldTable(read)
    }

    private mutating func read(_ array: amqp_array_t, depth: Int) -> [FieldValue] {
        let entries = UnsafeBufferPointer(start: array.entries, count: Int(clamping: max(0, array.num_entries)))
        var read: [FieldValue] = []
        read.reserveCapacity(min(entries.count, remaining))
        for entry in entries {
            guard let value = next(entry, depth: depth) else {
                read.append(.omitted)
                break
            }
            read.append(value)
        }
        return read
    }

    /// Returns the next value, or `nil` after the message's limit of values is reached.
    private mutating func next(_ field: amqp_field_value_t, depth: Int) -> FieldValue? {
        guard remaining > 0 else { return nil }
        remaining -= 1
        switch FieldKind(rawValue: field.kind) {
        case .table:
            return depth < Self.depthLimit ? .table(read(field.value.table, depth: depth + 1)) : .omitted
        case .array:
            return depth < Self.depthLimit ? .array(read(field.value.array, depth: depth + 1)) : .omitted
        default: return Self.scalar(field)
        }
    }

    private static func scalar(_ field: amqp_field_value_t) -> FieldValue {
        switch FieldKind(rawValue: field.kind) {
        case .boolean: .boolean(field.value.boolean != 0)
        case .int8: .int8(field.value.i8)
        case .uint8: .uint8(field.value.u8)
        case .int16: .int16(field.value.i16)
        case .uint16: .uint16(field.value.u16)
        case .int32: .int32(field.value.i32)
        case .uint32: .uint32(field.value.u32)
        case .int64: .int64(field.value.i64)
        case .uint64: .uint64(field.value.u64)
        case .float: .float(field.value.f32)
        case .double: .double(field.value.f64)
        case .decimal: .decimal(scale: field.value.decimal.decimals, value: field.value.decimal.value)
        case .string: .string(String(field.value.bytes))
        case .bytes: .bytes([UInt8](field.value.bytes))
        case .timestamp: .timestamp(field.value.u64)
        case .void: .void
        case .table, .array, nil: .omitted
        }
    }
}

extension String {
    /// Whether `bytes` are the UTF-8 of this string.
    fileprivate func names(_ bytes: amqp_bytes_t) -> Bool {
        utf8.count == bytes.len && UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.len).elementsEqual(utf8)
    }

    init(_ bytes: amqp_bytes_t) {
        self.init(wire: UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.len))
    }
}

extension [UInt8] {
    init(_ bytes: amqp_bytes_t) {
        self.init(UnsafeRawBufferPointer(start: bytes.bytes, count: bytes.len))
    }
}
