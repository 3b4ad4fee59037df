extension Event {
    /// Appends the canonical bytes of the event's identity: everything that a user would see or that changes its
    /// delivery.
    ///
    /// Two events with the same id and different bytes are an `id-conflict`.
    ///
    /// The bytes exclude the sending time, the audience (which is compared per user) and the form of the message. They
    /// are a JSON object with sorted keys. Absent fields are left out, and empty `data` and `metadata` count as absent.
    /// Instants are in microseconds, and numbers keep their spelling (`1` and `1.0` differ).
    public func contentBytes(into buffer: inout [UInt8]) {
        var writer = ContentWriter()
        writer.begin()
        writer.write("body", content.body)
        writer.write("collapseKey", content.collapseKey)
        writer.write("data", content.data)
        writer.write("deliverAt", deliverAt)
        writer.write("expiresAt", expiresAt)
        writer.write("imageUrl", content.imageURL)
        writer.write("metadata", content.metadata)
        writer.write("noEmail", content.isNeverMailed)
        writer.write("route", content.route)
        writer.write("targetId", content.targetID)
        writer.write("title", content.title)
        writer.write("type", type.text)
        writer.write("venueId", content.venueID)
        writer.end()
        writer.buffer.withBytes { buffer.append(contentsOf: $0) }
    }
}

/// Writes the members of one object, in the order of the calls.
private struct ContentWriter: ~Copyable {
    var buffer = JSONBuffer(capacity: 512)
    private var isFirst = true

    mutating func begin() {
        buffer.append(UInt8(ascii: "{"))
    }

    mutating func write(_ key: StaticString, _ text: String?) {
        guard let text else { return }
        begin(key)
        buffer.append(text)
    }

    /// Writes a true value; false counts as absent.
    mutating func write(_ key: StaticString, _ isTrue: Bool) {
        guard isTrue else { return }
        begin(key)
        buffer.append("true" as StaticString)
    }

    mutating func write(_ key: StaticString, _ object: JSONObject) {
        guard !object.isEmpty else { return }
        begin(key)
        buffer.append(object)
    }

    mutating func write(_ key: StaticString, _ instant: Timestamp?) {
        guard let instant else { return }
        begin(key)
        buffer.append(instant.microseconds)
    }

    mutating func end() {
        buffer.append(UInt8(ascii: "}"))
    }

    /// Writes the key of the next member; constant names need no escapes.
    private mutating func begin(_ key: StaticString) {
        if !isFirst { buffer.append(UInt8(ascii: ",")) }
        isFirst = false
        buffer.append(UInt8(ascii: "\""))
        buffer.append(key)
        buffer.append(UInt8(ascii: "\""))
        buffer.append(UInt8(ascii: ":"))
    }
}
