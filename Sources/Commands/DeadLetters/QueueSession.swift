import AMQP
import BellhopRules
import Pipeline
import ServiceRuntime
import Store

/// The desk without the database: `--from-queue` works on the broker's dead-letter queue alone.
///
/// What it replays reaches the workers' replay queue, where it waits for the database like everything else. There is no
/// audit in such a night; who did it travels in the messages' own headers.
struct QueueSession: Sendable {
    private let request: DeskRequest
    private let scan: DeadLetterScan
    private let names: TopologyNames
    private let broker: BrokerAddress
    private let filter: DeadLetterFilter

    init(_ request: DeskRequest) throws {
        self.request = request
        names = request.setup.names
        broker = try request.setup.broker()
        scan = DeadLetterScan(broker: broker, names: names)
        var filter = try DeadLetterFilter(request.words, now: SystemTime().timestamp)
        filter.ids = Array(request.words.operands.dropFirst())
        if request.verb == .replay { try filter.expectMeant(request.words, .replay) }
        self.filter = filter
    }

    func run() async throws -> ExitCode {
        switch request.verb {
        case .list: try await list()
        case .export: try await export()
        default: try await replay()
        }
    }

    private var words: Words { request.words }

    private func say(_ line: String) { request.shell.print(line: line) }

    /// The items that failed last; older ones are counted and forgotten, so that memory stays bounded.
    private func list() async throws -> ExitCode {
        let limit = filter.limit ?? 50
        var latest: [DeadLetterItem] = []
        var count = 0
        let short = try await forEach { items in
            count += items.count
            latest = Array((latest + items.map(Self.withoutBody)).sorted { $0.failedAt > $1.failedAt }.prefix(limit))
            return []
        }
        if count == 0, let holders = await consumers(), holders > 0, !request.call.isJSON {
            let who = holders.of("scheduler")
            say("\(who) may hold what was there; what they cannot file comes back within half a minute.")
        }
        let code = show(latest, of: count)
        if let short { throw short }
        return code
    }

    /// Who takes from the queue; what they hold nobody else sees.
    private func consumers() async -> Int? {
        let name = names.dead
        let queue = try? await BrokerSession.with(broker, name: "bellhop dead-letters") { try $0.checkQueue(name) }
        return queue.map { Int($0.consumers) }
    }

    private func show(_ latest: [DeadLetterItem], of count: Int) -> ExitCode {
        let rows = zip(latest, DeskText.shortened(latest.map(\.deadID))).map { item, id in
            [
                id, DeskText.ago(item.failedAt, SystemTime().timestamp), item.cause.app ?? "-",
                item.cause.eventType ?? "-", item.cause.reason, DeskText.cut(item.cause.error, to: 60),
            ]
        }
        let header = ["item", "failed", "app", "type", "reason", "error"]
        let table = TextTable(header, texts: [1, 2, 3, 4, 5], rows: rows).lines()
        let items = latest.map { JSONText.object(DeadLetterMessage($0).listed) }
        request.call.answer(
            .object([("count", .number(count)), ("items", .list(items))]),
            lines: count == 0
                ? ["No items match in \(names.dead)."] : table + DeskText.rest(latest.count, of: count)
        )
        return count == 0 ? .answerIsNo : .done
    }

    /// Everything stays in the queue.
    private func export() async throws -> ExitCode {
        let file = try ExportFile(path: words.value("output"), else: request.shell.output)
        var count = 0
        let short = try await forEach { items in
            try file.write(items.map { DeadLetterMessage($0).json.description })
            count += items.count
            return []
        }
        try file.close()
        if let path = words.value("output") {
            say("Wrote \(count.of("item")) to \(path).")
        }
        if let short { throw short }
        return count == 0 ? .answerIsNo : .done
    }

    /// Moves rejected messages to the replay queue, each only once the broker has confirmed it there.
    private func replay() async throws -> ExitCode {
        var (rejected, deliveries, cut, old) = (0, 0, 0, 0)
        let short = try await forEach { items in
            deliveries += items.count { $0.delivery != nil }
            rejected += items.count(where: isReplayable)
            cut += items.count { $0.origin.cutBody != nil }
            old += items.count(where: isTooOld)
            return []
        }
        if cut > 0 { say(DeskText.cutBodies(cut)) }
        if old > 0 { say("\(old.of("item")) failed more than \(horizon.shortText) ago and stay in the queue.") }
        if deliveries > 0 {
            say("\(deliveries.of("delivery item")) need the ledger and stay in the queue.")
        }
        guard rejected > 0 else {
            say("No rejected messages match in \(names.dead).")
            if let short { throw short }
            return .answerIsNo
        }
        guard try request.call.confirm(rejected, "replays \(rejected.of("rejected message"))") else {
            return .answerIsNo
        }
        let publisher = Publisher(PublisherOptions(broker: broker, name: "bellhop dead-letters"))
        publisher.start()
        let by = words.value("by") ?? request.shell.user
        var sent = 0
        let result: Result<Void, any Error>
        do {
            _ = try await forEach { items in
                // What has arrived since the count was agreed to stays.
                let chosen = items.indices.filter { isReplayable(items[$0]) }.prefix(rejected - sent)
                let confirmed = await DeadLetterScan.republish(
                    chosen.map { items[$0] },
                    by: by,
                    names: names,
                    through: publisher
                )
                let done = zip(chosen, confirmed).filter(\.1).map(\.0)
                sent += done.count
                return Set(done)
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await publisher.close()
        try result.get()
        say("Moved \(sent.of("message")) to \(names.replay).")
        if let short { throw short }
        return sent == rejected ? .done : .tryAgain
    }

    private var horizon: Duration { request.configuration.replayHorizon }

    /// By the settings alone: how far retention has gone only the database knows.
    private func isTooOld(_ item: DeadLetterItem) -> Bool {
        item.failedAt.microseconds < SystemTime().timestamp.microseconds - horizon.microseconds
    }

    /// What needs no ledger, is whole, and young enough.
    private func isReplayable(_ item: DeadLetterItem) -> Bool {
        item.delivery == nil && item.origin.cutBody == nil && !isTooOld(item)
    }

    /// Calls `body` with the items that match; the positions that it returns leave the queue.
    ///
    /// - Returns: what to say in the end where not all letters could be looked at.
    private func forEach(_ body: ([DeadLetterItem]) async throws -> Set<Int>) async throws -> CommandFailure? {
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
                cameBack: "\(left.of("letter")) behind those that were looked at could not be reached",
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

    private static func withoutBody(_ item: DeadLetterItem) -> DeadLetterItem {
        var slim = item
        slim.origin.body = []
        return slim
    }
}
