package import AMQP
package import BellhopRules

/// The required objects on the broker, with every argument explicit, so that no version's default matters.
package struct TopologyPlan: Sendable {
    package struct Exchange: Sendable, Equatable {
        package let name: String
        package let kind: String
        package let arguments: FieldTable
    }

    package struct Queue: Sendable, Equatable {
        package let name: String
        package let arguments: FieldTable
    }

    package struct Binding: Sendable, Hashable {
        package let queue: String
        package let exchange: String
        package let routingKey: String
    }

    package let names: TopologyNames
    package let exchanges: [Exchange]
    package let queues: [Queue]
    /// The bindings that never change; the lanes' bindings depend on the catalogues.
    package let fixedBindings: [Binding]
    /// The lane of each routing key of the events exchange.
    package let lanes: [String: Lane]
    /// The number of keys that are event types of a catalogue.
    ///
    /// The others are the keys of every app, for feed messages and cancellations.
    package let eventTypeCount: Int
    /// The number of keys that are names of mappings, by which a catalogue converts other applications' messages.
    package let mappingCount: Int

    /// Creates the plan.
    ///
    /// Two equal tiers would share a queue, so they count once.
    package init(names: TopologyNames, catalogs: CatalogSet, tiers: [RetryTier]) {
        let tiers = Array(Set(tiers)).sorted { $0.delay < $1.delay }
        self.names = names
        exchanges = Self.exchanges(names, tiers)
        queues = Self.queues(names, tiers)
        fixedBindings = Self.fixedBindings(names, tiers)
        lanes = Self.lanes(of: catalogs)
        eventTypeCount = catalogs.catalogs.map(\.types.count).reduce(0, +)
        mappingCount = catalogs.catalogs.map(\.mappings.count).reduce(0, +)
    }

    private static func exchanges(_ names: TopologyNames, _ tiers: [RetryTier]) -> [Exchange] {
        [
            Exchange(name: names.other, kind: "fanout", arguments: [:]),
            Exchange(name: names.events, kind: "topic", arguments: ["alternate-exchange": .string(names.other)]),
            Exchange(name: names.work, kind: "direct", arguments: [:]),
            Exchange(name: names.dead, kind: "fanout", arguments: [:]),
        ] + tiers.map { Exchange(name: names.retry($0), kind: "fanout", arguments: [:]) }
    }

    /// The number of messages from which the broker rejects further ones for a queue.
    package static let longestQueue = 10_000_000
    /// The same for the queue of dead letters.
    package static let longestDeadLetterQueue = 20_000_000

    private static func queues(_ names: TopologyNames, _ tiers: [RetryTier]) -> [Queue] {
        let working =
            Lane.allCases.map(names.lane) + Lane.allCases.map(names.resume) + [names.replay, names.receipts]
        let dead = Queue(
            name: names.dead,
            // Reading a dead letter must not consume it, and none expires: no TTL, and a delivery limit that is out of
            // reach. (-1 would mean "drop at the first return" on RabbitMQ 3.10.)
            arguments: quorum(maxLength: longestDeadLetterQueue, deliveryLimit: 1_000_000_000)
        )
        return working.map { Queue(name: $0, arguments: quorum(deadLettersTo: names.dead)) } + [dead]
            + tiers.map { tier in
                var arguments = quorum(deadLettersTo: names.work)
                arguments["x-message-ttl"] = .int64(tier.milliseconds)
                return Queue(name: names.retry(tier), arguments: arguments)
            }
    }

    /// Returns the arguments of a quorum queue.
    ///
    /// At-least-once dead-lettering requires reject-publish and a limit, because messages that wait for it count
    /// towards the length.
    private static func quorum(
        maxLength: Int = longestQueue,
        deliveryLimit: Int64 = 20,
        deadLettersTo exchange: String? = nil
    ) -> FieldTable {
        var arguments: FieldTable = [
            "x-queue-type": .string("quorum"),
            "x-delivery-limit": .int64(deliveryLimit),
            "x-max-length": .int64(Int64(maxLength)),
            "x-overflow": .string("reject-publish"),
        ]
        if let exchange {
            arguments["x-dead-letter-exchange"] = .string(exchange)
            arguments["x-dead-letter-strategy"] = .string("at-least-once")
        }
        return arguments
    }

    private static func fixedBindings(_ names: TopologyNames, _ tiers: [RetryTier]) -> [Binding] {
        let internalQueues = Lane.allCases.map(names.resume) + [names.replay, names.receipts]
        return internalQueues.map { Binding(queue: $0, exchange: names.work, routingKey: $0) }
            + [
                Binding(queue: names.lane(.normal), exchange: names.other, routingKey: ""),
                Binding(queue: names.dead, exchange: names.dead, routingKey: ""),
            ]
            + tiers.map { Binding(queue: names.retry($0), exchange: names.retry($0), routingKey: "") }
    }

    /// Returns the lane of each routing key.
    ///
    /// Events use the lane of their type's priority; feed messages use the normal lane. Messages that a mapping converts
    /// use the lane of the most urgent type that it can produce.
    private static func lanes(of catalogs: CatalogSet) -> [String: Lane] {
        var lanes: [String: Lane] = [:]
        for catalog in catalogs.catalogs {
            for type in catalog.types {
                lanes["\(catalog.app).\(type.type)"] = type.priority.lane
            }
            for mapping in catalog.mappings {
                let priorities = Set(mapping.types.compactMap { catalog[$0]?.priority })
                lanes["\(catalog.app).\(mapping.name)"] = Priority.allCases.first(where: priorities.contains)?.lane
            }
            for kind in FeedType.allCases.map(\.rawValue) + [SubmissionParser.cancellationType] {
                lanes["\(catalog.app).\(kind)"] = .normal
            }
        }
        return lanes
    }
}
