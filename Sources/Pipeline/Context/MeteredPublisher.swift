package import AMQP
package import ServiceRuntime

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
