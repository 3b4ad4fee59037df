/// Writes JSON in one canonical form.
///
/// Keys are in the order of their bytes, there is no white space, only mandatory escapes are used, and numbers keep the
/// text of their source.
///
/// The same value always gives the same bytes, so that they can be hashed and compared. Parsing the bytes gives an
/// equal value.
public enum JSONWriter {
    /// Returns the canonical bytes of a value.
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

    /// Appends an object with sorted keys.
    public static func write(_ object: JSONObject, into buffer: inout [UInt8]) {
        write(.object(object), into: &buffer)
    }
}
