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
