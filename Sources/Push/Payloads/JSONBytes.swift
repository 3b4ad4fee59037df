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

    /// Adds a text of a notification; an absent one adds nothing.
    mutating func add(_ key: StaticString, _ field: NotificationTexts.Field, of texts: NotificationTexts) {
        texts.with(field) { text in
            guard let text else { return }
            bytes.begin(key)
            bytes.append(quoting: text)
        }
    }

    /// Adds an object of a notification, which is JSON already; an absent one adds nothing.
    mutating func add(_ key: StaticString, json field: NotificationTexts.Field, of texts: NotificationTexts) {
        texts.with(field) { json in
            guard let json else { return }
            bytes.begin(key)
            bytes.append(json)
        }
    }

    /// Adds a member with an external key.
    mutating func add(foreign key: String, _ text: String) {
        bytes.begin(foreign: key)
        bytes.append(text)
    }

    mutating func add(foreign key: String, _ number: Int) {
        bytes.begin(foreign: key)
        bytes.append(Int64(number))
    }

    mutating func add(foreign key: String, _ flag: Bool) {
        bytes.begin(foreign: key)
        bytes.append(flag ? "true" : "false" as StaticString)
    }

    /// Adds a member with an external key and a text of a notification, also one of JSON.
    mutating func add(foreign key: String, _ field: NotificationTexts.Field, of texts: NotificationTexts) {
        texts.with(field) { text in
            guard let text else { return }
            bytes.begin(foreign: key)
            bytes.append(quoting: text)
        }
    }

    /// Adds a member with an external key and an object of a notification.
    mutating func add(foreign key: String, json field: NotificationTexts.Field, of texts: NotificationTexts) {
        texts.with(field) { json in
            guard let json else { return }
            bytes.begin(foreign: key)
            bytes.append(json)
        }
    }

    /// Adds a member of the event's data, with `prefix` before its key.
    mutating func add(_ member: CanonicalMembers.Member, prefix: StaticString = "") {
        begin(member, prefix)
        bytes.append(member.value)
    }

    /// Adds a member of the event's data with its value as a text: numbers and flags as written, objects and arrays as
    /// JSON.
    mutating func add(text member: CanonicalMembers.Member, prefix: StaticString = "") {
        guard member.string == nil else { return add(member, prefix: prefix) }
        begin(member, prefix)
        bytes.append(quoting: member.value)
    }

    private mutating func begin(_ member: CanonicalMembers.Member, _ prefix: StaticString) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(prefix)
        bytes.append(member.key)
        bytes.append("\":" as StaticString)
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
