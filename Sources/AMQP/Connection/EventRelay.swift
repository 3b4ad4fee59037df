import Dispatch

/// Carries events to their observer in order, off the connection's thread, which must never wait for anybody.
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
