package import AMQP
package import ServiceRuntime

/// The pipeline's view of the broker: publishes messages and returns the outcome of each.
package protocol MessagePublisher: Sendable {
    /// Publishes messages and returns one outcome for each, in order.
    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome]
    /// Publishes messages of which none may overtake an earlier one; after a failure the rest is not sent.
    func publish(inOrder messages: [OutgoingMessage]) async -> [PublishOutcome]
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

/// A role's publisher that counts unconfirmed messages, so that metrics, and not only the log, show a full queue or a
/// broker that accepts nothing.
package struct MeteredPublisher: MessagePublisher {
    /// The publisher without the counting.
    package let publisher: Publisher
    private let unconfirmed: LabelledMetric<Counter>

    package init(_ publisher: Publisher, _ registry: MetricsRegistry) {
        self.publisher = publisher
        unconfirmed = registry.counter(
            "bellhop_unconfirmed_total",
            help: "Internal messages that the broker did not confirm: refused, unroutable, not-sent, unknown, unfit.",
            labels: ["outcome"]
        )
        registry.gauge("bellhop_broker_blocked", help: "1 while the broker has an alarm and takes no messages.") {
            publisher.isBlocked ? 1 : 0
        }
    }

    package var isConnected: Bool { publisher.isConnected }
    package var isBlocked: Bool { publisher.isBlocked }

    package func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome] {
        counting(await publisher.publish(messages))
    }

    package func publish(inOrder messages: [OutgoingMessage]) async -> [PublishOutcome] {
        counting(await publisher.publish(inOrder: messages))
    }

    package func publish(_ messages: [OutgoingMessage], within patience: Duration) async -> [PublishOutcome] {
        counting(await publisher.publish(messages, within: patience))
    }

    private func counting(_ outcomes: [PublishOutcome]) -> [PublishOutcome] {
        for word in outcomes.lazy.compactMap(\.trouble) { unconfirmed.with(word).increment() }
        return outcomes
    }

    package func close() async {
        await publisher.close()
    }
}

extension PublishOutcome {
    /// The outcome as a label; `nil` if it is confirmed.
    fileprivate var trouble: String? {
        switch self {
        case .confirmed: nil
        case .refused: "refused"
        case .unroutable: "unroutable"
        case .notSent: "not-sent"
        case .unknown: "unknown"
        case .unwritable, .tooLarge: "unfit"
        }
    }
}
