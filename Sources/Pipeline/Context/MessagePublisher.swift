package import AMQP

/// The broker as the pipeline sees it: takes messages, and says of each what became of it.
package protocol MessagePublisher: Sendable {
    /// One outcome for each message, in their order.
    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome]
    var isConnected: Bool { get }
    /// Whether the broker takes nothing from anybody, since it runs out of memory or disk.
    var isBlocked: Bool { get }
}

extension MessagePublisher {
    /// What keeps it from publishing, in words; nil where nothing does.
    package var obstacle: String? {
        guard isConnected else { return "it is not connected" }
        return isBlocked ? PublishOutcome.alarm : nil
    }
}

extension Publisher: MessagePublisher {}
