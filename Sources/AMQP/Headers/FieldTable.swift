/// A table of named values in wire order: the headers of a message, or the arguments of a queue.
///
/// A name may occur twice, as the protocol allows; the subscript uses the first entry.
package struct FieldTable: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package let name: String
        package let value: FieldValue

        package init(_ name: String, _ value: FieldValue) {
            self.name = name
            self.value = value
        }
    }

    package var entries: [Entry]

    package init(_ entries: [Entry] = []) { self.entries = entries }

    package var isEmpty: Bool { entries.isEmpty }

    /// Whether reading stopped at one of the table's values, so that names may be missing.
    package var isCut: Bool {
        entries.contains { entry in
            if case .omitted = entry.value { true } else { false }
        }
    }

    /// The number of values that are read of one message's headers, including nested ones.
    package static let readableValues = FieldTableDecoder.valueLimit

    /// Returns the table without the entries that would exceed `limit` values, including nested ones.
    package func prefix(ofValues limit: Int) -> FieldTable {
        var room = limit
        return FieldTable(
            entries.filter { entry in
                let count = entry.value.valueCount
                guard count <= room else { return false }
                room -= count
                return true
            }
        )
    }

    /// The first value of that name.
    ///
    /// Setting replaces the entry in its position or appends one; setting `nil` removes all entries of the name.
    package subscript(name: String) -> FieldValue? {
        get { entries.first { $0.name == name }?.value }
        set {
            guard let newValue else { return entries.removeAll { $0.name == name } }
            let entry = Entry(name, newValue)
            guard let index = entries.firstIndex(where: { $0.name == name }) else { return entries.append(entry) }
            entries[index] = entry
        }
    }

    /// Returns the table without the names that match `isUnwanted`.
    package func removing(where isUnwanted: (String) -> Bool) -> FieldTable {
        FieldTable(entries.filter { !isUnwanted($0.name) })
    }
}

extension FieldTable: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, FieldValue)...) {
        entries = elements.map { Entry($0, $1) }
    }
}

/// A value in a header table with its wire type, so that reading and writing again gives the same bytes.
package indirect enum FieldValue: Sendable, Equatable {
    case boolean(Bool)
    case int8(Int8)
    case uint8(UInt8)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case float(Float)
    case double(Double)
    /// `value` times ten to the power of minus `scale`.
    case decimal(scale: UInt8, value: UInt32)
    /// Text.
    ///
    /// Bytes that are not UTF-8 are preserved as described at `String.init(wire:)`.
    case string(String)
    case bytes([UInt8])
    /// Seconds since 1970.
    case timestamp(UInt64)
    case array([FieldValue])
    case table(FieldTable)
    case void
    /// A value that was not read, because it is nested deeper than 16 levels or follows 4,096 values of the message.
    ///
    /// It is written as void.
    case omitted

    /// The number of values as reading counts them: the value itself and all nested ones.
    var valueCount: Int {
        switch self {
        case .array(let values): values.reduce(1) { $0 + $1.valueCount }
        case .table(let table): table.entries.reduce(1) { $0 + $1.value.valueCount }
        default: 1
        }
    }

    /// The text of a string, else `nil`.
    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The value of any integer type, clamped to the range of `Int`; `nil` for other types.
    package var integer: Int? {
        switch self {
        case .int8(let value): Int(value)
        case .uint8(let value): Int(value)
        case .int16(let value): Int(value)
        case .uint16(let value): Int(value)
        case .int32(let value): Int(value)
        case .uint32(let value): Int(value)
        case .int64(let value): Int(clamping: value)
        case .uint64(let value): Int(clamping: value)
        default: nil
        }
    }
}

extension FieldValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .int64(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
}

/// The letter that identifies a value's type on the wire, as RabbitMQ interprets the protocol.
enum FieldKind: UInt8 {
    case boolean = 0x74  // t
    case int8 = 0x62  // b
    case uint8 = 0x42  // B
    case int16 = 0x73  // s
    case uint16 = 0x75  // u
    case int32 = 0x49  // I
    case uint32 = 0x69  // i
    case int64 = 0x6c  // l
    case uint64 = 0x4c  // L
    case float = 0x66  // f
    case double = 0x64  // d
    case decimal = 0x44  // D
    case string = 0x53  // S
    case array = 0x41  // A
    case timestamp = 0x54  // T
    case table = 0x46  // F
    case void = 0x56  // V
    case bytes = 0x78  // x
}
