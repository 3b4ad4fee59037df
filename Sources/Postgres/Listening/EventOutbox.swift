/// Hands events to a consumer who may be slow, and makes good for those that found no room.
struct EventOutbox {
    let continuation: AsyncStream<NotificationListener.Event>.Continuation
    /// Events were dropped and the consumer has not been told yet.
    private(set) var owesOverflow = false

    init(_ continuation: AsyncStream<NotificationListener.Event>.Continuation) {
        self.continuation = continuation
    }

    mutating func hand(over event: NotificationListener.Event) {
        tellOverflow()
        if case .dropped = continuation.yield(event) { owesOverflow = true }
    }

    /// Tells of dropped events as soon as there is room again.
    mutating func tellOverflow() {
        guard owesOverflow else { return }
        if case .enqueued = continuation.yield(.overflowed) { owesOverflow = false }
    }
}
