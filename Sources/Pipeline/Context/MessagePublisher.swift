package import AMQP

/// The broker as the pipeline sees it: takes messages, and says of each what became of it.
package protocol MessagePublisher: Sendable {
    /// One outcome for each message, in their order.
    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome]
    /// The same for a caller that waits no longer than `patience`: a message without an outcome by then is `unknown`, and may
    /// still be published.
    func publish(_ messages: [OutgoingMessage], within patience: Duration) async -> [PublishOutcome]
    var isConnected: Bool { get }
    /// Whether the broker takes nothing from anybody, since it runs out of memory or disk.
    var isBlocked: Bool { get }
}

extension MessagePublisher {
    /// For a publisher whose outcomes never take long.
    package func publish(_ messages: [OutgoingMessage], within patience: Duration) async -> [PublishOutcome] {
        await publish(messages)
    }

    /// What keeps it from publishing, in words; nil where nothing does.
    package var obstacle: String? {
        guard isConnected else { return "it is not connected" }
        return isBlocked ? PublishOutcome.alarm : nil
    }
}

extension Publisher: MessagePublisher {}
