/// What happens to a connection over its life, for logs and metrics; its work goes on by itself.
package enum ConnectionEvent: Sendable, Equatable {
    case connected(host: String)
    /// The connection is lost or could not be made; the next attempt starts after `retryIn`, or never (`nil`) where the
    /// owner is being closed.
    case disconnected(AMQPError, retryIn: Duration?)
    /// The broker has an alarm (memory, disk) and takes no messages; published ones wait.
    case blocked(reason: String)
    case unblocked
    /// Messages of this queue are coming in.
    case subscribed(queue: String)
    /// The subscription was taken up anew, since nothing had come for long.
    case renewed(queue: String)
    /// The broker ended a subscription, for a deleted queue mostly; it is tried again with growing pauses.
    case consumerCancelled(queue: String)
    /// A queue cannot be subscribed to; it is tried again after `retryIn`.
    case subscriptionFailed(queue: String, AMQPError, retryIn: Duration)
    /// A message of this queue has headers that librabbitmq cannot read (nested deeper than 100 from 0.14 on). It was
    /// rejected, to the queue's dead-letter exchange if there is one, since it would end every connection that meets
    /// it; this connection ends, too.
    case unreadable(queue: String)
    /// The broker closed the channel; a new one takes its place on the same connection.
    case channelClosed(AMQPError)
}

extension ConnectionEvent: CustomStringConvertible {
    /// In words, for the log.
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
    /// `350 ms`, `1.4 s`.
    fileprivate var inWords: String {
        let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
        guard milliseconds >= 1000 else { return "\(milliseconds) ms" }
        return "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }
}
