package import AMQP
import BellhopRules
package import Store

/// Applies the plan to the broker, or reports how the broker differs from it.
package struct TopologyApplier: Sendable {
    private let broker: BrokerAddress
    private let plan: TopologyPlan
    private let records: BindingStore

    package init(broker: BrokerAddress, plan: TopologyPlan, records: BindingStore) {
        self.broker = broker
        self.plan = plan
        self.records = records
    }

    /// The result of one run of ``apply()``.
    package struct Report: Sendable, Equatable {
        package let exchanges: Int
        package let queues: Int
        package let eventTypes: Int
        /// The routing keys of messages that catalogues convert.
        package let mappings: Int
        /// The routing keys that every app has: feed messages and cancellations.
        package let feedKeys: Int
        /// The routing keys that are no longer in any catalogue.
        package let unboundTypes: [String]
    }

    /// Declares everything, binds each type to its lane and unbinds it from the others; it is safe to repeat.
    ///
    /// A type that changes its lane is bound to the new one before it leaves the old one. For a moment, an event may
    /// arrive twice, which the inbox deduplicates, but it always arrives.
    package func apply() async throws -> Report {
        let recorded = try await records.all()
        // A record is written before its binding and deleted after it, so that no binding is unknown. A crash in
        // between leaves a type without a binding; until the next run, the alternate exchange routes it to the normal
        // lane.
        let gone = recorded.keys.filter { plan.lanes[$0] == nil }.sorted()
        try await records.record(plan.lanes)
        try await BrokerSession.with(broker, name: "topology apply") { [plan] session in
            for exchange in plan.exchanges {
                try session.declareExchange(exchange.name, kind: exchange.kind, arguments: exchange.arguments)
            }
            for queue in plan.queues {
                _ = try session.declareQueue(queue.name, arguments: queue.arguments)
            }
            for binding in plan.fixedBindings {
                try session.bind(binding.queue, to: binding.exchange, key: binding.routingKey)
            }
            for (key, lane) in plan.lanes.sorted(by: { $0.key < $1.key }) {
                try session.bind(plan.names.lane(lane), to: plan.names.events, key: key)
                for other in Lane.allCases where other != lane {
                    try session.unbind(plan.names.lane(other), from: plan.names.events, key: key)
                }
            }
            for key in gone {
                for lane in Lane.allCases {
                    try session.unbind(plan.names.lane(lane), from: plan.names.events, key: key)
                }
            }
        }
        try await records.forget(gone)
        return Report(
            exchanges: plan.exchanges.count,
            queues: plan.queues.count,
            eventTypes: plan.eventTypeCount,
            mappings: plan.mappingCount,
            feedKeys: plan.lanes.count - plan.eventTypeCount - plan.mappingCount,
            unboundTypes: gone
        )
    }

    /// Returns the text of every difference between the plan and the broker; empty if they agree.
    ///
    /// Arguments are compared by redeclaration, which the broker rejects if they differ. That requires the right to
    /// configure, so the operator's check does it and a worker's start does not.
    package func differences(comparingArguments: Bool) async throws -> [String] {
        var differences = try await BrokerSession.with(broker, name: "topology check") { [plan] session in
            var found: [String] = []
            for exchange in plan.exchanges {
                guard try session.checkExchange(exchange.name) else {
                    found.append("exchange \(exchange.name) is missing")
                    continue
                }
                guard comparingArguments else { continue }
                try Self.note(in: &found, "exchange \(exchange.name)") {
                    try session.declareExchange(exchange.name, kind: exchange.kind, arguments: exchange.arguments)
                }
            }
            for queue in plan.queues {
                guard try session.checkQueue(queue.name) != nil else {
                    found.append("queue \(queue.name) is missing")
                    continue
                }
                guard comparingArguments else { continue }
                try Self.note(in: &found, "queue \(queue.name)") {
                    _ = try session.declareQueue(queue.name, arguments: queue.arguments)
                }
            }
            return found
        }
        let recorded = try await records.all()
        // First what an apply would unbind: events of a type that is still in use would then be rejected.
        for key in recorded.keys.sorted() where plan.lanes[key] == nil {
            differences.append("\(key) is bound but no catalogue knows it")
        }
        for (key, lane) in plan.lanes.sorted(by: { $0.key < $1.key }) where recorded[key] != lane {
            differences.append("\(key) should be bound to the \(lane.rawValue) lane but \(Self.words(recorded[key]))")
        }
        return differences
    }

    /// Runs a redeclaration and converts the broker's rejection (406) into a difference.
    private static func note(in found: inout [String], _ what: String, _ redeclare: () throws -> Void) throws {
        do {
            try redeclare()
        } catch let error as AMQPError where error.replyCode == 406 {
            found.append("\(what) differs: \(error)")
        }
    }

    private static func words(_ lane: Lane?) -> String {
        lane.map { "is bound to \($0.rawValue)" } ?? "is bound to none"
    }
}
