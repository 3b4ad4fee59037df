/// Passes events to a consumer that may be slow, and reports an overflow for events that did not fit.
struct EventOutbox {
    let continuation: AsyncStream<NotificationListener.Event>.Continuation
    /// Whether events were dropped and the consumer was not informed yet.
    private(set) var owesOverflow = false

    init(_ continuation: AsyncStream<NotificationListener.Event>.Continuation) {
        self.continuation = continuation
    }

    mutating func hand(over event: NotificationListener.Event) {
        tellOverflow()
        if case .dropped = continuation.yield(event) { owesOverflow = true }
    }

    /// Reports dropped events as soon as there is room again.
    mutating func tellOverflow() {
        guard owesOverflow else { return }
        if case .enqueued = continuation.yield(.overflowed) { owesOverflow = false }
    }
}
