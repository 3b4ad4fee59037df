import BellhopRules

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
