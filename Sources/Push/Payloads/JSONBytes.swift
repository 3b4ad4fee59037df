import BellhopRules

/// Writes one JSON object directly into bytes, member by member.
///
/// This is the builders' hot path, without intermediate values.
struct JSONBytes: ~Copyable {
    private var bytes: JSONBuffer

    /// Opens the root object.
    init(capacity: Int) {
        bytes = JSONBuffer(capacity: capacity)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The number of bytes written so far.
    var count: Int { bytes.count }

    /// Closes the root object and returns all bytes.
    mutating func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes.array
    }

    /// Opens an object under a key; further members are added to it until `close`.
    mutating func open(_ key: StaticString) {
        bytes.begin(key)
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func close() { bytes.append(UInt8(ascii: "}")) }

    mutating func add(_ key: StaticString, _ text: String) {
        bytes.begin(key)
        bytes.append(text)
    }

    /// Adds a text; `nil` adds nothing.
    mutating func add(_ key: StaticString, _ text: String?) {
        guard let text else { return }
        add(key, text)
    }

    /// Adds a constant text that needs no escapes.
    mutating func add(_ key: StaticString, plain text: StaticString) {
        bytes.begin(key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(text)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func add(_ key: StaticString, _ number: Int) {
        bytes.begin(key)
        bytes.append(Int64(number))
    }

    mutating func add(_ key: StaticString, _ flag: Bool) {
        bytes.begin(key)
        bytes.append(flag ? "true" : "false" as StaticString)
    }

    /// Adds an object with sorted keys and unchanged values.
    mutating func add(_ key: StaticString, _ object: JSONObject) {
        bytes.begin(key)
        bytes.append(object)
    }

    /// Adds a member with an external key and an unchanged value.
    mutating func add(foreign key: String, _ value: JSONValue) {
        bytes.begin(foreign: key)
        bytes.append(value)
    }

    /// Adds a member with an external key.
    mutating func add(foreign key: String, _ text: String) {
        bytes.begin(foreign: key)
        bytes.append(text)
    }

    /// Adds a member with an external key, whose value is the JSON of an object as a text.
    mutating func add(foreign key: String, spelling object: CanonicalObject) {
        bytes.begin(foreign: key)
        object.bytes.withUnsafeBufferPointer { bytes.append(quoting: $0) }
    }

    /// Adds a member with an external key and an object.
    mutating func add(foreign key: String, _ object: CanonicalObject) {
        bytes.begin(foreign: key)
        object.bytes.withUnsafeBufferPointer { bytes.append($0) }
    }

}

extension String {
    /// The number of bytes between the quotes of the text's JSON string, as `JSONWriter` writes it.
    var jsonByteCount: Int {
        var count = utf8.count
        for byte in utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: count += 1
            case 0..<0x20: count += 5
            default: break
            }
        }
        return count
    }
}
