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
