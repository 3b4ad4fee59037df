import Pipeline
import Postgres
import ServiceRuntime
import Store

/// The command `bellhop topology apply|check`.
enum TopologyCommand: Command {
    static let name = "topology"
    static let summary = "Puts exchanges, queues and bindings on the broker, or compares them with the catalogues."
    static let synopsis = ["topology apply", "topology check"]

    private enum Act: String {
        case apply, check
    }

    static func run(_ call: Call) async throws -> ExitCode {
        let operands = call.words.operands
        guard operands.count == 1, let act = Act(rawValue: operands[0]) else {
            throw call.words.misuse("expected apply or check")
        }
        let footing = try call.footing(requiring: [.amqpURL, .databaseURL, .catalogs])
        let (broker, plan) = (try footing.broker(), footing.plan(try footing.catalogs()))
        return try await footing.withPool(as: .admin, name: name) { pool in
            let applier = TopologyApplier(broker: broker, plan: plan, records: BindingRecords(pool: pool))
            switch act {
            case .apply: return try await apply(applier, call.surroundings)
            case .check: return try await check(applier, call.surroundings)
            }
        }
    }

    private static func apply(_ applier: TopologyApplier, _ surroundings: Surroundings) async throws -> ExitCode {
        let report = try await applier.apply()
        surroundings.print(
            """
            \(report.exchanges) exchanges, \(report.queues) queues; bound to their lanes: \(report.eventTypes) event types \
            and \(report.feedKeys) keys of feeds and cancellations
            """
        )
        if !report.unboundTypes.isEmpty {
            surroundings.print(
                "unbound, since no catalogue knows them any more: \(report.unboundTypes.joined(separator: ", "))"
            )
        }
        return .done
    }

    private static func check(_ applier: TopologyApplier, _ surroundings: Surroundings) async throws -> ExitCode {
        let differences = try await applier.differences(comparingArguments: true)
        guard !differences.isEmpty else {
            surroundings.print("the broker agrees with the catalogues")
            return .done
        }
        for difference in differences { surroundings.print(line: difference) }
        return .answerIsNo
    }
}
