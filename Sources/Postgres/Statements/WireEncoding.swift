import Glibc

/// The binary forms of single values.
///
/// Each function rejects an unsuitable type.
extension WireBuffer {
    /// The version at the start of `jsonb`'s binary form.
    static let jsonbVersion: UInt8 = 1

    mutating func append(text: String, as type: ServerType) throws(EncodingFault) {
        guard type.isTextual || type == .jsonb else { throw .mismatch }
        if type == .jsonb { append(Self.jsonbVersion) }
        var text = text
        let isClean = text.withUTF8 { utf8 in
            guard !Self.holdsNul(UnsafeRawBufferPointer(utf8)) else { return false }
            append(UnsafeRawBufferPointer(utf8))
            return true
        }
        if !isClean { throw .holdsNul }
    }

    mutating func append(json: [UInt8], as type: ServerType) throws(EncodingFault) {
        guard type == .jsonb || type == .json || type == .text else { throw .mismatch }
        if type == .jsonb { append(Self.jsonbVersion) }
        let isClean = json.withUnsafeBytes { bytes in
            guard !Self.holdsNul(bytes) else { return false }
            append(bytes)
            return true
        }
        if !isClean { throw .holdsNul }
    }

    mutating func append(bytes: [UInt8], as type: ServerType) throws(EncodingFault) {
        guard type == .bytea else { throw .mismatch }
        bytes.withUnsafeBytes { append($0) }
    }

    mutating func append(integer: Int64, as type: ServerType) throws(EncodingFault) {
        switch type {
        case .int8:
            append(integer)
        case .int4:
            guard let narrow = Int32(exactly: integer) else { throw .outOfRange }
            append(narrow)
        case .int2:
            guard let narrow = Int16(exactly: integer) else { throw .outOfRange }
            append(narrow)
        case .oidType:
            guard let narrow = UInt32(exactly: integer) else { throw .outOfRange }
            append(narrow)
        default:
            throw .mismatch
        }
    }

    mutating func append(double: Double, as type: ServerType) throws(EncodingFault) {
        guard type == .float8 else { throw .mismatch }
        append(double.bitPattern)
    }

    mutating func append(boolean: Bool, as type: ServerType) throws(EncodingFault) {
        guard type == .boolean else { throw .mismatch }
        append(UInt8(boolean ? 1 : 0))
    }

    mutating func append(instant: Int64, as type: ServerType) throws(EncodingFault) {
        guard type == .timestamptz else { throw .mismatch }
        guard let microseconds = PostgresEpoch.microseconds(since1970: instant) else { throw .outOfRange }
        append(microseconds)
    }

    static func holdsNul(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return false }
        return memchr(start, 0, bytes.count) != nil
    }
}

/// Arrays: dimensions, a flag for NULLs, the element's type, length and lower bound, then each element with its length.
extension WireBuffer {
    mutating func appendHeader(_ length: Int32, hasNulls: Bool, of type: ServerType) {
        append(Int32(length == 0 ? 0 : 1))
        append(Int32(hasNulls ? 1 : 0))
        append(type.oid)
        if length == 0 { return }
        append(length)
        append(Int32(1))
    }

    mutating func append<Element>(
        array: [Element?],
        of type: ServerType,
        _ write: (inout WireBuffer, Element) throws(EncodingFault) -> Void
    ) throws(EncodingFault) {
        guard let length = Int32(exactly: array.count) else { throw .tooLarge }
        appendHeader(length, hasNulls: array.contains { $0 == nil }, of: type)
        for element in array {
            guard let element else {
                append(Int32(-1))
                continue
            }
            try appendMeasured { (buffer) throws(EncodingFault) in try write(&buffer, element) }
        }
    }
}
