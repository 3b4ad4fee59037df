package import BellhopRules
package import ServiceRuntime

/// The names of everything on the broker, all under one namespace.
package struct TopologyNames: Sendable {
    package let namespace: Namespace

    package init(_ namespace: Namespace) {
        self.namespace = namespace
    }

    /// Where producers publish; routing key `<app>.<eventType>`.
    package var events: String { "\(namespace).events" }
    /// Takes what `events` has no binding for, so that no key is unroutable.
    package var other: String { "\(namespace).other" }
    /// Internal work only: resume messages, fan-out pages, replays, receipts.
    package var work: String { "\(namespace).work" }
    /// The dead-letter exchange, and the queue of the same name.
    package var dead: String { "\(namespace).dead" }
    package var replay: String { "\(namespace).replay" }
    package var receipts: String { "\(namespace).receipts" }

    /// The routing key, and the beginning of the name, of a queue of a worker's own.
    func canary(_ lane: String, of process: String) -> String { "\(namespace).canary.\(process).\(lane)" }

    package func lane(_ lane: Lane) -> String { "\(namespace).\(lane.rawValue)" }
    package func resume(_ lane: Lane) -> String { "\(namespace).resume.\(lane.rawValue)" }
    /// Whether what once came this way is our own work, such as a resume message, and not a producer's word.
    func carriesWork(exchange: String, routingKey: String) -> Bool {
        exchange != events && (routingKey == replay || Lane.allCases.contains { resume($0) == routingKey })
    }

    /// Whether a queue takes internal work: nothing is bound to it but the exchange that only our own publishers may use.
    func isInternal(queue: String) -> Bool {
        queue == replay || queue == receipts || Lane.allCases.contains { resume($0) == queue }
    }

    /// Whether a letter of ours travels under this key.
    ///
    /// What the broker moves into the dead-letter queue keeps its own key, and to the exchange before that queue only our
    /// own publishers may write.
    func isKeyOfOurLetters(_ key: String) -> Bool {
        key == Self.delivery || isInternal(queue: key) || Lane.allCases.contains { lane($0) == key }
    }

    /// The routing key of a letter about a delivery; that of a message that was refused is the queue it came from.
    static let delivery = "delivery"

    /// The exchange of one retry tier, and the queue of the same name.
    package func retry(_ tier: RetryTier) -> String { "\(namespace).retry.\(tier.name)" }
}
