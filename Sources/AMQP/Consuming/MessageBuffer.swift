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

    /// The oldest, `limit` at most.
    ///
    /// Taking all there is copies nothing.
    mutating func take(_ limit: Int) -> [IncomingMessage] {
        guard start > 0 || messages.count > limit else { return takeAll() }
        let end = min(messages.count, start + limit)
        let taken = Array(messages[start..<end])
        for message in taken { bytes -= message.cost }
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
