import ServiceRuntime

/// A buffer of messages that wait to be taken, with their size in memory.
struct MessageBuffer {
    private(set) var bytes = 0
    private var messages = Queue<IncomingMessage>()

    var isEmpty: Bool { messages.isEmpty }

    mutating func append(_ arrived: [IncomingMessage]) {
        for message in arrived { bytes += message.cost }
        messages.append(contentsOf: arrived)
    }

    /// Returns the oldest messages: at most `limit`, and at most `most` bytes unless the first message alone is larger.
    ///
    /// Taking all messages copies nothing.
    mutating func take(_ limit: Int, bytes most: Int = .max) -> [IncomingMessage] {
        guard messages.count > limit || bytes > most else { return takeAll() }
        let last = min(messages.count, limit)
        var end = 0
        var size = 0
        while end < last, end == 0 || size + messages[end].cost <= most {
            size += messages[end].cost
            end += 1
        }
        bytes -= size
        return messages.take(end)
    }

    mutating func takeAll() -> [IncomingMessage] {
        bytes = 0
        return messages.take(messages.count)
    }
}
