package import AMQP

/// The pipeline's view of the broker: publishes messages and returns the outcome of each.
package protocol MessagePublisher: Sendable {
    /// Publishes messages and returns one outcome for each, in order.
    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome]
    /// Publishes messages for a caller that waits no longer than `patience`. A message without an outcome by then is
    /// `unknown`, and may still be published.
    func publish(_ messages: [OutgoingMessage], within patience: Duration) async -> [PublishOutcome]
    var isConnected: Bool { get }
    /// Whether the broker accepts no messages from any client, because it runs out of memory or disk.
    var isBlocked: Bool { get }
}

extension MessagePublisher {
    /// Publishes without a time limit, for a publisher whose outcomes never take long.
    package func publish(_ messages: [OutgoingMessage], within patience: Duration) async -> [PublishOutcome] {
        await publish(messages)
    }

    /// The text of the obstacle to publishing; `nil` if there is none.
    package var obstacle: String? {
        guard isConnected else { return "it is not connected" }
        return isBlocked ? PublishOutcome.alarm : nil
    }
}

extension Publisher: MessagePublisher {}
