/// Writes JSON in one canonical form: keys in the order of their bytes, no white space, only the escapes that must be,
/// numbers as their source wrote them.
///
/// The same value always gives the same bytes, so that they can be hashed and compared; reading them back gives an
/// equal value.
public enum JSONWriter {
    /// The canonical bytes of a value.
    public static func canonicalBytes(of value: JSONValue) -> [UInt8] {
        var json = JSONBuffer(capacity: 256)
        json.append(value)
        return json.array
    }

    /// Appends the canonical bytes of a value.
    public static func write(_ value: JSONValue, into buffer: inout [UInt8]) {
        var json = JSONBuffer(capacity: 256)
        json.append(value)
        json.withBytes { buffer.append(contentsOf: $0) }
    }

    /// Appends a quoted string.
    public static func write(_ text: String, into buffer: inout [UInt8]) {
        var json = JSONBuffer(capacity: 2 + text.utf8.count)
        json.append(text)
        json.withBytes { buffer.append(contentsOf: $0) }
    }

    /// Appends an object, its keys in order.
    public static func write(_ object: JSONObject, into buffer: inout [UInt8]) {
        write(.object(object), into: &buffer)
    }
}
