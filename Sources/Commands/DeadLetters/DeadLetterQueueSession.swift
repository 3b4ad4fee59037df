import AMQP
import BellhopRules
import CLI
import Operations
import Pipeline
import ServiceRuntime
import Settings
import Store

/// The dead-letter commands without the database.
///
/// `--from-queue` uses only the broker's dead-letter queue.
///
/// Replayed messages go to the workers' replay queue, where they wait for the database like all other messages. Without
/// the database there is no audit, so the operator's name and reason are stored in the messages' headers.
struct DeadLetterQueueSession: Sendable {
    let request: DeadLetterRequest
    let names: TopologyNames
    let broker: BrokerAddress
    let filter: DeadLetterFilter
    private let scan: DeadLetterScan

    init(_ request: DeadLetterRequest) throws {
        self.request = request
        names = request.setup.names
        broker = try request.setup.broker()
        scan = DeadLetterScan(broker: broker, names: names)
        let input = request.input
        var filter = try DeadLetterFilter(input)
        filter.ids = input.fields.items
        if request.verb == .replay, !request.words.has("dry-run") { try input.expectChoice(filter) }
        self.filter = filter
    }

    func run() async throws -> ExitCode {
        switch request.verb {
        case .groups: try await groups()
        case .list: try await list()
        case .show: try await show()
        case .export: try await export()
        default: try await replay()
        }
    }

    var words: Words { request.words }
    var width: Int? { request.shell.output.width }

    func say(_ line: String) { request.shell.print(line: line) }

    /// Calls `body` with the matching items.
    ///
    /// The positions that it returns are removed from the queue.
    ///
    /// - Returns: a failure to report at the end, if not all messages could be read.
    func forEach(_ body: ([DeadLetterItem]) async throws -> Set<Int>) async throws -> CommandFailure? {
        let reach = try await scan.run { items in
            let matching = items.indices.filter { filter.matches(items[$0]) }
            guard !matching.isEmpty else { return [] }
            return Set(try await body(matching.map { items[$0] }).map { matching[$0] })
        }
        switch reach {
        case .everything: return nil
        case .part(let left):
            return CommandFailure(
                .tryAgain,
                attempted: "going through \(names.dead)",
                cameBack: "\(left.of("letter")) behind the inspected ones could not be read",
                whatToDo: "let a scheduler file them, or move some on with replay, and try again"
            )
        case .noQueue:
            throw CommandFailure(
                .configuration,
                attempted: "reading \(names.dead)",
                cameBack: "there is no such queue",
                whatToDo: "run bellhop topology apply, or name the right \(Setting.namespace.environmentName)"
            )
        }
    }

    // MARK: - Empty results

    /// Ends a command that has found nothing.
    ///
    /// An unknown reason, stage or provider is an error, as with the database.
    func foundNothing(_ json: JSONValue) async throws -> ExitCode {
        try await filter.expectKnownNames()
        request.call.answer(json, lines: ["No items match in \(names.dead)."])
        await sayWhoHolds()
        return .answerIsNo
    }

    /// Reports that schedulers hold messages that are not visible here.
    ///
    /// A scheduler that cannot store them returns them to the queue.
    func sayWhoHolds() async {
        guard !request.call.isJSON, let holders = await consumers(), holders > 0 else { return }
        let held = await heldElsewhere().map { $0.of("dead letter") } ?? "dead letters"
        request.shell.complaints.print(
            line: "\(holders.of("scheduler")) may hold \(held) that this list does not show; "
                + "what it cannot store returns to the queue within half a minute."
        )
    }

    /// Returns the number of consumers of the queue.
    private func consumers() async -> Int? {
        let name = names.dead
        let queue = try? await BrokerSession.with(broker, name: "bellhop dead-letters") { try $0.checkQueue(name) }
        return queue.map { Int($0.consumers) }
    }

    /// Returns the number of messages that consumers hold, if the management API is configured.
    ///
    /// Its figures are some seconds old.
    private func heldElsewhere() async -> Int? {
        guard let url = request.configuration.managementURL,
            let management = try? ManagementAPI(url)
        else { return nil }
        let namespace = request.configuration.namespace
        let queues = try? await management.queues(of: namespace, virtualHost: broker.virtualHost)
        return queues?[names.dead]?.unacked
    }
}
