/// Decodes the binary form of one field, after checking its type and length against the requested type.
enum ColumnDecoder {
    /// Returns the bytes of a value that can be read in place.
    static func content(
        _ bytes: UnsafeRawBufferPointer,
        _ type: ServerType
    ) throws(DecodingFault) -> UnsafeRawBufferPointer {
        if type == .jsonb { return try jsonbContent(bytes) }
        guard type.isTextual || type == .bytea else { throw .mismatch(wanted: "bytes") }
        return bytes
    }

    static func text(_ bytes: UnsafeRawBufferPointer, _ type: ServerType) throws(DecodingFault) -> String {
        let content = type == .jsonb ? try jsonbContent(bytes) : bytes
        guard type.isTextual || type == .jsonb || type.isUserDefined else { throw .mismatch(wanted: "text") }
        guard isUTF8(content) else { throw .malformed }
        return String(decoding: content, as: UTF8.self)
    }

    static func integer(_ bytes: UnsafeRawBufferPointer, _ type: ServerType) throws(DecodingFault) -> Int64 {
        switch type {
        case .int8: try number(bytes)
        case .int4: Int64(try number(bytes) as Int32)
        case .int2: Int64(try number(bytes) as Int16)
        case .oidType: Int64(try number(bytes) as UInt32)
        default: throw .mismatch(wanted: "an integer")
        }
    }

    static func double(_ bytes: UnsafeRawBufferPointer, _ type: ServerType) throws(DecodingFault) -> Double {
        switch type {
        case .float8: Double(bitPattern: try number(bytes))
        case .float4: Double(Float(bitPattern: try number(bytes)))
        default: throw .mismatch(wanted: "a double")
        }
    }

    static func boolean(_ bytes: UnsafeRawBufferPointer, _ type: ServerType) throws(DecodingFault) -> Bool {
        guard type == .boolean else { throw .mismatch(wanted: "a boolean") }
        return try number(bytes) as UInt8 != 0
    }

    static func bytes(_ bytes: UnsafeRawBufferPointer, _ type: ServerType) throws(DecodingFault) -> [UInt8] {
        guard type == .bytea else { throw .mismatch(wanted: "bytes") }
        return [UInt8](bytes)
    }

    static func json(_ bytes: UnsafeRawBufferPointer, _ type: ServerType) throws(DecodingFault) -> [UInt8] {
        switch type {
        case .jsonb: [UInt8](try jsonbContent(bytes))
        case .json, .text: [UInt8](bytes)
        default: throw .mismatch(wanted: "JSON")
        }
    }

    static func instant(_ bytes: UnsafeRawBufferPointer, _ type: ServerType) throws(DecodingFault) -> Int64 {
        guard type == .timestamptz else { throw .mismatch(wanted: "an instant") }
        guard let instant = PostgresEpoch.since1970(try number(bytes)) else { throw .infinite }
        return instant
    }

    /// Whether the text is valid UTF-8.
    ///
    /// The server's texts are, unless the database uses another encoding.
    private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
    }

    private static func number<Number: FixedWidthInteger>(
        _ bytes: UnsafeRawBufferPointer
    ) throws(DecodingFault) -> Number {
        guard bytes.count == MemoryLayout<Number>.size else { throw .malformed }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }

    private static func jsonbContent(
        _ bytes: UnsafeRawBufferPointer
    ) throws(DecodingFault) -> UnsafeRawBufferPointer {
        guard bytes.first == 1 else { throw .malformed }
        return UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    }
}

/// The reason why a field does not have the requested type.
enum DecodingFault: Error {
    case mismatch(wanted: String)
    case malformed
    case infinite

    /// Returns an error that names column and type, but not the value.
    func report(column: String, type: ServerType) -> PostgresError {
        let reason =
            switch self {
            case .mismatch(let wanted): "was read as \(wanted); read it as what it is, or cast it in the statement"
            case .malformed: "holds bytes that are not a value of that type"
            case .infinite: "is infinite, where an instant was expected"
            }
        return PostgresError(.unexpectedResult, "Column \"\(column)\" (\(type)) \(reason).")
    }
}
