package import BellhopRules
import ServiceRuntime
package import Settings

/// The names of all objects on the broker, in one namespace.
package struct TopologyNames: Sendable {
    package let namespace: Namespace

    package init(_ namespace: Namespace) {
        self.namespace = namespace
    }

    /// The exchange to which producers publish; routing key `<app>.<eventType>`.
    package var events: String { "\(namespace).events" }
    /// The exchange for keys without a binding in `events`, so that no key is unroutable.
    package var other: String { "\(namespace).other" }
    /// The exchange for internal messages only: resumes, fan-out pages, replays and receipts.
    package var work: String { "\(namespace).work" }
    /// The dead-letter exchange and its queue, which has the same name.
    package var dead: String { "\(namespace).dead" }
    package var replay: String { "\(namespace).replay" }
    package var receipts: String { "\(namespace).receipts" }

    /// Returns the routing key of a worker's dedicated queue, which is also the beginning of the queue's name.
    func canary(_ lane: String, of process: String) -> String { "\(namespace).canary.\(process).\(lane)" }

    package func lane(_ lane: Lane) -> String { "\(namespace).\(lane.rawValue)" }
    package func resume(_ lane: Lane) -> String { "\(namespace).resume.\(lane.rawValue)" }
    /// Whether a message that came this way is internal, such as a resume message, and not a producer's message.
    func carriesWork(exchange: String, routingKey: String) -> Bool {
        exchange != events && (routingKey == replay || Lane.allCases.contains { resume($0) == routingKey })
    }

    /// Whether a queue carries internal messages.
    ///
    /// It is bound only to the exchange to which only our publishers may write.
    func isInternal(queue: String) -> Bool {
        queue == replay || queue == receipts || Lane.allCases.contains { resume($0) == queue }
    }

    /// Whether one of our dead letters has this key.
    ///
    /// Messages that the broker dead-letters keep their original keys, and only our publishers may write to the
    /// exchange of the dead-letter queue.
    func isKeyOfOurLetters(_ key: String) -> Bool {
        key == Self.delivery || isInternal(queue: key) || Lane.allCases.contains { lane($0) == key }
    }

    /// The routing key of a dead letter about a delivery.
    ///
    /// The key of a rejected message's dead letter is its original queue.
    static let delivery = "delivery"

    /// Returns the name of one retry tier's exchange and queue.
    package func retry(_ tier: RetryTier) -> String { "\(namespace).retry.\(tier.name)" }
}
