/// Messages that have arrived and wait to be taken, with the memory they take.
struct MessageBuffer {
    private(set) var bytes = 0
    private var messages: [IncomingMessage] = []
    private var start = 0

    var isEmpty: Bool { start == messages.count }

    mutating func append(_ arrived: [IncomingMessage]) {
        for message in arrived { bytes += message.cost }
        if isEmpty {
            messages = arrived
            start = 0
        } else {
            messages += arrived
        }
    }

    /// The oldest, `limit` at most, and no more `bytes` than asked for unless the first alone has more.
    ///
    /// Taking all there is copies nothing.
    mutating func take(_ limit: Int, bytes most: Int = .max) -> [IncomingMessage] {
        guard start > 0 || messages.count > limit || bytes > most else { return takeAll() }
        let last = min(messages.count, start + limit)
        var end = start
        var size = 0
        while end < last, end == start || size + messages[end].cost <= most {
            size += messages[end].cost
            end += 1
        }
        let taken = Array(messages[start..<end])
        bytes -= size
        start = end
        if start * 2 >= messages.count {
            messages.removeFirst(start)
            start = 0
        }
        return taken
    }

    mutating func takeAll() -> [IncomingMessage] {
        let taken = start == 0 ? messages : Array(messages[start...])
        self = MessageBuffer()
        return taken
    }
}
