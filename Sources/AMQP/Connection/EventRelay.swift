import Dispatch

/// Passes events to their observer in order, outside the connection's thread, which must never wait.
struct EventRelay: Sendable {
    private let queue = DispatchQueue(label: "bellhop.amqp.events")
    private let observer: @Sendable (ConnectionEvent) -> Void

    init(_ observer: @escaping @Sendable (ConnectionEvent) -> Void) {
        self.observer = observer
    }

    func post(_ event: ConnectionEvent) {
        queue.async { [observer] in observer(event) }
    }
}
