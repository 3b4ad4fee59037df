import BellhopRules

/// A well-formed message: its fields have their types, under either of their two names.
struct FCMMessage {
    let root: JSONObject

    /// Returns the value of a field by its documented name; null counts as absent.
    static func field(_ name: String, of object: JSONObject?) -> JSONValue? {
        guard let object else { return nil }
        let found = object[name] ?? object[camelCase(name)]
        return found == .null ? nil : found
    }

    /// Returns the field at the end of a path of documented names.
    subscript(way: String...) -> JSONValue? {
        var value: JSONValue? = .object(root)
        for name in way { value = Self.field(name, of: value?.object) }
        return value
    }

    /// The tag by which the device recognises a repeat, on every platform.
    var tag: String? {
        if let tag = self["android", "notification", "tag"]?.string { return tag }
        let headers = self["apns", "headers"]?.object?.members ?? []
        if let id = headers.first(where: { $0.key.lowercased() == "apns-collapse-id" })?.value.string { return id }
        let web = self["webpush", "headers"]?.object?.members ?? []
        return web.first { $0.key.lowercased() == "topic" }?.value.string
    }

    private static func camelCase(_ name: String) -> String {
        let words = name.split(separator: "_")
        return words.dropFirst().reduce(words.first.map(String.init) ?? "") {
            $0 + $1.prefix(1).uppercased() + $1.dropFirst()
        }
    }
}

/// The size of a message: the bytes of its keys and values for each platform, without the surrounding syntax.
struct FCMMessageSize {
    /// The largest of the platforms' sizes.
    let bytes: Int

    init(_ message: FCMMessage) {
        let common = Self.size(message["notification"])
        let data = Self.size(message["data"])
        let android = message["android", "data"].map { Self.size($0) } ?? data
        let sizes = [
            common + android + Self.size(message["android", "notification"]),
            common + data + Self.size(message["apns", "payload"]),
            common + (message["webpush", "data"].map { Self.size($0) } ?? data)
                + Self.size(message["webpush", "notification"]),
        ]
        bytes = sizes.max() ?? 0
    }

    private static func size(_ value: JSONValue?) -> Int {
        switch value {
        case nil, .null: 0
        case .bool: 1
        case .number(let number): number.text.utf8.count
        case .string(let text): text.utf8.count
        case .array(let elements): elements.reduce(0) { $0 + size($1) }
        case .object(let object): object.members.reduce(0) { $0 + $1.key.utf8.count + size($1.value) }
        }
    }
}
