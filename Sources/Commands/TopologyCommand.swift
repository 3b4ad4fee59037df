import CLI
import Pipeline
import Postgres
import Roles
import ServiceRuntime
import Store

/// The command `bellhop topology apply|check`.
enum TopologyCommand: Command {
    static let name = "topology"
    static let summary = "Declares exchanges, queues and bindings, or compares them with the catalogues."
    static let synopsis = ["topology apply", "topology check"]

    private enum Act: String {
        case apply, check
    }

    static func run(_ call: Call) async throws -> ExitCode {
        let operands = call.words.operands
        guard operands.count == 1, let act = Act(rawValue: operands[0]) else {
            throw call.words.misuse("expected apply or check")
        }
        let setup = try call.setup(requiring: [.amqpURL, .databaseURL, .catalogs])
        let (broker, plan) = (try setup.broker(), setup.plan(try setup.catalogs()))
        return try await reaching(
            for: "topology \(act.rawValue)",
            isAct: act == .apply,
            whatToDo: "it requires broker and database: start the unavailable one, then run it again"
        ) {
            try await setup.withPool(as: .admin, name: name) { pool in
                let applier = TopologyApplier(broker: broker, plan: plan, records: BindingStore(pool: pool))
                switch act {
                case .apply: return try await apply(applier, call.shell)
                case .check: return try await check(applier, call.shell)
                }
            }
        }
    }

    private static func apply(_ applier: TopologyApplier, _ shell: CommandEnvironment) async throws -> ExitCode {
        let report = try await applier.apply()
        let mappings = report.mappings == 0 ? "" : ", \(report.mappings) of mappings"
        shell.print(
            """
            \(report.exchanges) exchanges, \(report.queues) queues; bound to their lanes: \(report.eventTypes) event types \
            and \(report.feedKeys) keys of feeds and cancellations\(mappings)
            """
        )
        if !report.unboundTypes.isEmpty {
            shell.print(
                "unbound, no longer in any catalogue: \(report.unboundTypes.joined(separator: ", "))"
            )
        }
        return .done
    }

    private static func check(_ applier: TopologyApplier, _ shell: CommandEnvironment) async throws -> ExitCode {
        let differences = try await applier.differences(comparingArguments: true)
        guard !differences.isEmpty else {
            shell.print("the broker agrees with the catalogues")
            return .done
        }
        for difference in differences { shell.print(line: difference) }
        return .answerIsNo
    }
}
