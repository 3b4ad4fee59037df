import Pipeline
import Postgres
import ServiceRuntime
import Store

/// The command `bellhop topology apply|check`.
struct TopologyCommand: Command {
    static let name = "topology"
    static let summary = "Puts exchanges, queues and bindings on the broker, or compares them with the catalogues."
    static let synopsis = ["topology apply", "topology check"]

    private enum Act: String {
        case apply, check
    }

    private let words: Words
    private let act: Act

    init(_ words: Words) throws(CommandFailure) {
        guard words.operands.count == 1, let act = Act(rawValue: words.operands[0]) else {
            throw .usage(of: Self.name, "expected apply or check")
        }
        self.words = words
        self.act = act
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.amqpURL, .databaseURL, .catalogs])
        let footing = Footing(configuration: configuration)
        let plan = footing.plan(try footing.catalogs())
        let pool = try footing.pool(as: .admin, name: "topology", size: 1)
        let applier = TopologyApplier(broker: try footing.broker(), plan: plan, records: BindingRecords(pool: pool))
        do {
            let code: ExitCode
            switch act {
            case .apply: code = try await apply(applier, surroundings)
            case .check: code = try await check(applier, surroundings)
            }
            await pool.close()
            return code
        } catch {
            await pool.close()
            throw error
        }
    }

    private func apply(_ applier: TopologyApplier, _ surroundings: Surroundings) async throws -> ExitCode {
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

    private func check(_ applier: TopologyApplier, _ surroundings: Surroundings) async throws -> ExitCode {
        let differences = try await applier.differences(comparingArguments: true)
        guard !differences.isEmpty else {
            surroundings.print("the broker agrees with the catalogues")
            return .done
        }
        for difference in differences { surroundings.print(line: difference) }
        return .answerIsNo
    }
}
