import Dispatch

/// An event in the lifecycle of a connection, for logs and metrics.
///
/// No reaction is required.
package enum ConnectionEvent: Sendable, Equatable {
    case connected(host: String)
    /// The connection is lost or could not be made.
    ///
    /// The next attempt starts after `retryIn`, or never (`nil`) if the owner is being closed.
    case disconnected(AMQPError, retryIn: Duration?)
    /// The broker has an alarm (memory or disk) and accepts no messages; published messages wait.
    case blocked(reason: String)
    case unblocked
    /// Messages of this queue are being received.
    case subscribed(queue: String)
    /// The subscription was renewed after a long time without messages.
    case renewed(queue: String)
    /// The broker ended a subscription, usually because the queue was deleted.
    ///
    /// It is tried again with growing pauses.
    case consumerCancelled(queue: String)
    /// A queue cannot be subscribed to; it is tried again after `retryIn`.
    case subscriptionFailed(queue: String, AMQPError, retryIn: Duration)
    /// A message of this queue has headers that librabbitmq cannot read (nested deeper than 100 levels, from 0.14 on).
    ///
    /// It would end each connection that receives it, so it was rejected, to the queue's dead-letter exchange if there
    /// is one. This connection ends, too.
    case unreadable(queue: String)
    /// The broker closed the channel; a new one replaces it on the same connection.
    case channelClosed(AMQPError)
}

extension ConnectionEvent: CustomStringConvertible {
    /// The text for the log.
    package var description: String {
        switch self {
        case .connected(let host): "connected to \(host)"
        case .disconnected(let error, nil): "lost the connection: \(error)"
        case .disconnected(let error, let pause?): "not connected: \(error); trying again in \(pause.inWords)"
        case .blocked(let reason): "the broker takes no messages for now: \(reason); what is published waits"
        case .unblocked: "the broker takes messages again"
        case .subscribed(let queue): "consuming \(queue)"
        case .renewed(let queue): "renewed the subscription to \(queue) after a silence"
        case .consumerCancelled(let queue): "the broker ended the subscription to \(queue), subscribing again"
        case .subscriptionFailed(let queue, let error, let pause):
            "cannot subscribe to \(queue): \(error); trying again in \(pause.inWords)"
        case .unreadable(let queue): "rejected a message of \(queue) whose headers cannot be read"
        case .channelClosed(let error): "the broker closed the channel: \(error); opening another"
        }
    }
}

extension Duration {
    /// The duration as `350 ms` or `1.4 s`.
    fileprivate var inWords: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }
}

/// Passes events to their observer in order, outside the connection's thread, which must never wait.
struct EventRelay: Sendable {
    private let queue = DispatchQueue(label: "bellhop.amqp.events")
    private let observer: @Sendable (ConnectionEvent) -> Void

    init(_ observer: @escaping @Sendable (ConnectionEvent) -> Void) { self.observer = observer }

    func post(_ event: ConnectionEvent) { queue.async { [observer] in observer(event) } }
}
