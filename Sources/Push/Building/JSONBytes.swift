import BellhopRules

/// Writes one JSON object straight into bytes, member after member: the builders' hot path, without values in between.
struct JSONBytes {
    private(set) var bytes: [UInt8] = []

    /// Opens the root object.
    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
        bytes.append(UInt8(ascii: "{"))
    }

    /// Closes the root object and gives all of it.
    mutating func finished() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
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
        JSONWriter.write(text, into: &bytes)
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
        append(text)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func add(_ key: StaticString, _ number: Int) {
        begin(key)
        bytes.append(contentsOf: String(number).utf8)
    }

    mutating func add(_ key: StaticString, _ flag: Bool) {
        begin(key)
        append(flag ? "true" : "false")
    }

    /// A value as it came, its keys in order.
    mutating func add(_ key: StaticString, _ object: JSONObject) {
        begin(key)
        JSONWriter.write(object, into: &bytes)
    }

    /// A member that comes from outside, its value as it is.
    mutating func add(foreign key: String, _ value: JSONValue) {
        separate()
        JSONWriter.write(key, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        JSONWriter.write(value, into: &bytes)
    }

    /// A member whose key comes from outside.
    mutating func add(foreign key: String, _ text: String) {
        separate()
        JSONWriter.write(key, into: &bytes)
        bytes.append(UInt8(ascii: ":"))
        JSONWriter.write(text, into: &bytes)
    }

    private mutating func begin(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Only an object that was just opened ends with a brace of this kind: a text ends with its quote.
    private mutating func separate() {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
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
