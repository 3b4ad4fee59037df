import BellhopRules

/// Writes one JSON object straight into bytes, member after member: the builders' hot path, without values in between.
struct JSONBytes: ~Copyable {
    private var bytes: JSONBuffer

    /// Opens the root object.
    init(capacity: Int) {
        bytes = JSONBuffer(capacity: capacity)
        bytes.append(UInt8(ascii: "{"))
    }

    /// How many bytes there are so far.
    var count: Int { bytes.count }

    /// Closes the root object and gives all of it.
    mutating func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes.array
    }

    /// Opens an object under a key; what follows goes into it until `close`.
    mutating func open(_ key: StaticString) {
        begin(key)
        bytes.append(UInt8(ascii: "{"))
    }

    mutating func close() {
        bytes.append(UInt8(ascii: "}"))
    }

    mutating func add(_ key: StaticString, _ text: String) {
        begin(key)
        bytes.append(text)
    }

    /// Adds nothing where there is nothing.
    mutating func add(_ key: StaticString, _ text: String?) {
        guard let text else { return }
        add(key, text)
    }

    /// A text of our own that needs no escapes.
    mutating func add(_ key: StaticString, plain text: StaticString) {
        begin(key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(text)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func add(_ key: StaticString, _ number: Int) {
        begin(key)
        bytes.append(Int64(number))
    }

    mutating func add(_ key: StaticString, _ flag: Bool) {
        begin(key)
        bytes.append(flag ? "true" : "false" as StaticString)
    }

    /// A value as it came, its keys in order.
    mutating func add(_ key: StaticString, _ object: JSONObject) {
        begin(key)
        bytes.append(object)
    }

    /// A member that comes from outside, its value as it is.
    mutating func add(foreign key: String, _ value: JSONValue) {
        begin(foreign: key)
        bytes.append(value)
    }

    /// A member whose key comes from outside.
    mutating func add(foreign key: String, _ text: String) {
        begin(foreign: key)
        bytes.append(text)
    }

    /// A member whose key comes from outside, and whose value is the JSON of an object, written as a text.
    mutating func add(foreign key: String, spelling object: JSONObject) {
        begin(foreign: key)
        var inner = JSONBuffer(capacity: 2 + 64 * object.count)
        inner.append(object)
        inner.withBytes { bytes.append(quoting: $0) }
    }

    private mutating func begin(foreign key: String) {
        separate()
        bytes.append(key)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func begin(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Only an object that was just opened ends with a brace of this kind: a text ends with its quote.
    private mutating func separate() {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
    }
}

extension String {
    /// How many bytes the text takes between the quotes of a JSON string, as `JSONWriter` writes it.
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
