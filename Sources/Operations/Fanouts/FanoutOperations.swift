import AMQP
import BellhopJSON
import BellhopRules
import ServiceRuntime
package import Store

/// The operators' acts on fan-outs.
package struct FanoutOperations: Sendable {
    let context: OperationsContext

    package init(_ context: OperationsContext) {
        self.context = context
    }

    var store: FanoutAdmin { FanoutAdmin(pool: context.pool) }

    /// The maximum number of fan-outs that are described before an act.
    private static let shownBefore = 50

    // MARK: - Reading

    /// Returns the fan-outs that match: the ones that can continue first, then the most recent ones.
    package func list(_ fields: OperationFields) async throws -> FanoutList {
        let filter = try FanoutFilter(fields, for: "list")
        guard filter.numbers.isEmpty else {
            throw OperationError.unfit("list takes no number; show does", field: "items")
        }
        let limit = try fields.number("limit", in: 1...1_000) ?? 50
        let found = try await store.latest(filter, atMost: limit)
        let count = found.count < limit ? found.count : try await store.count(filter)
        let holds = try await HoldAdmin(pool: context.pool).all()
        let held = try await heldEvents(of: found, behind: holds)
        let waiting = try await waitingEvents(of: found)
        let unexplained = try await store.unexplained(found.map(\.record.number))
        let hasWorker = try await HeartbeatStore(pool: context.pool).all().hasWorker
        return FanoutList(
            count: count,
            fanouts: found.map { progress in
                FanoutAnswer(
                    progress,
                    isHeld: held.contains([progress.record.app, progress.record.event]),
                    waits: progress.record.finishedAt != nil
                        && waiting.contains([progress.record.app, progress.record.event]),
                    holds: holds,
                    unexplainedBy: unexplained[progress.record.number],
                    hasWorker: hasWorker
                )
            }
        )
    }

    /// Returns one fan-out with all details.
    package func show(_ filter: FanoutFilter) async throws -> FanoutAnswer {
        let progress = try await progress(of: filter, for: "show")
        let detail = try await store.detail(of: progress.record.number)
        let surroundings = FanoutObstacles(
            status: try await StoreStatus(of: context.pool),
            holds: try await holds(on: progress.record),
            consumers: progress.record.interruption(at: progress.asOf) == nil
                ? nil : await consumers(progress.record.priority.lane)
        )
        let results = try await results(of: progress.record)
        return FanoutAnswer(
            progress,
            detail: detail,
            surroundings: surroundings,
            results: results,
            everyone: progress.record.topic == nil
                ? try await EveryoneCount(in: progress.record.app, on: context.pool) : nil,
            unexplainedBy: try await store.unexplained([progress.record.number])[progress.record.number]
        )
    }

    /// Returns the one fan-out that a filter names.
    func progress(of filter: FanoutFilter, for act: String) async throws -> FanoutProgress {
        guard filter.numbers.count == 1 || filter.numbers.isEmpty && filter.event != nil else {
            throw OperationError.unfit("\(act) requires one number or --event; see list", field: "items")
        }
        let found = try await store.latest(filter, atMost: 2)
        let attempted = "\(act) \(filter.subject)"
        guard let progress = found.first else {
            let advice = "bellhop fanouts lists all"
            throw OperationError(.notPossible, attempted: attempted, "unknown fan-out", advice: advice)
        }
        guard found.count == 1 else {
            let apps = "apps \(found[0].record.app) and \(found[1].record.app) have one"
            throw OperationError(.refused, attempted: attempted, apps, advice: "add --app")
        }
        return progress
    }

    // MARK: - Acts

    /// Counts the fan-outs that an act would affect.
    package func preview(_ act: FanoutAdmin.Act, on filter: FanoutFilter) async throws -> FanoutActPreview {
        guard filter.isNarrow else {
            throw OperationError.unfit("\(act.rawValue) requires a fan-out number or a filter")
        }
        var filter = filter
        filter.states = act.acceptedStates
        return FanoutActPreview(act: act, filter: filter, count: try await store.count(filter))
    }

    /// Returns the fan-outs that an act would affect, for a dry run.
    package func affected(by preview: FanoutActPreview) async throws -> [FanoutAnswer] {
        let hasWorker = try await HeartbeatStore(pool: context.pool).all().hasWorker
        return try await store.latest(preview.filter, atMost: Self.shownBefore).map { progress in
            FanoutAnswer(progress, hasWorker: hasWorker)
        }
    }

    /// Explains that no fan-out is in a state that the act accepts.
    ///
    /// An operator who named a fan-out by its number or its event needs to see its present state.
    package func nothing(for preview: FanoutActPreview) async throws -> [String] {
        let states = preview.act.acceptedStates.map(\.rawValue).sorted().joined(separator: " or ")
        var filter = preview.filter
        filter.states = Set(FanoutState.allCases)
        let isNamed = !filter.numbers.isEmpty || filter.event != nil
        let named = isNamed ? try await store.latest(filter, atMost: Self.shownBefore).map(\.record) : []
        let hasFinished = named.contains { $0.state == .finished }
        let holds = hasFinished ? try await HoldAdmin(pool: context.pool).all() : []
        return ["No \(states) fan-outs match."]
            + named.map { record in
                record.presentState(for: preview.act, holds.filter { $0.scope.mayConcern(record) })
            }
    }

    /// Pauses, resumes or cancels all fan-outs that match, and returns their number.
    package func perform(
        _ preview: FanoutActPreview,
        _ agreement: Agreement,
        by operator: ActingOperator
    ) async throws -> Int {
        switch try await store.perform(preview.act, on: preview.filter, agreed: agreement.count, by: `operator`) {
        case .done(let items): return items
        case .moreThanAgreed(let items):
            throw OperationError(
                .tryAgain,
                attempted: "\(preview.act.rawValue) \(preview.filter.subject)",
                "\(items.of("fan-out")) match now, and \(agreement.count.grouped) were agreed to",
                advice: "nothing was changed; look again"
            )
        }
    }

    // MARK: - Holds and workers

    /// Returns the holds that may affect the fan-out, with the number of its deliveries that wait behind each.
    private func holds(on record: FanoutRecord) async throws -> [HeldShare] {
        var shares: [HeldShare] = []
        for hold in try await HoldAdmin(pool: context.pool).all() where hold.scope.mayConcern(record) {
            let selection = HoldSelection(hold.scope, of: hold.number, event: EventID(validating: record.event))
            let count = try await HoldAdmin(pool: context.pool).count(selection)
            shares.append(HeldShare(hold: hold, waiting: count.deliveries))
        }
        return shares
    }

    /// Returns app and event of each fan-out with deliveries behind a hold.
    private func heldEvents(
        of found: [FanoutProgress],
        behind holds: [OperatorHold]
    ) async throws -> Set<[String]> {
        var held: Set<[String]> = []
        for hold in holds {
            guard found.contains(where: { hold.scope.mayConcern($0.record) }) else { continue }
            let events = try await HoldAdmin(pool: context.pool).events(of: hold.scope)
            held.formUnion(events.map { [hold.scope.app.text, $0.text] })
        }
        return held
    }

    /// Returns app and event of each ended fan-out with pushes that still wait: in a backlog, for another attempt or for
    /// their time.
    private func waitingEvents(of found: [FanoutProgress]) async throws -> Set<[String]> {
        let ended = found.map(\.record).filter { $0.finishedAt != nil }
        var waiting = try await store.dueEvents(among: ended.map(\.event))
        for app in Set(ended.map(\.app)).sorted().compactMap(AppID.init(validating:)) {
            let events = try await HoldAdmin(pool: context.pool).events(of: HoldScope(app: app))
            waiting.formUnion(events.map { [app.text, $0.text] })
        }
        return waiting
    }

    /// Returns the number of workers that consume the queue of pages, which is `nil` without a queue; `nil` if no broker
    /// is configured.
    private func consumers(_ lane: Lane) async -> Observed<Int?>? {
        guard context.configuration.amqpURL != nil else { return nil }
        return await .look(within: OperationsContext.brokersPatience) {
            let (broker, queue) = (try context.broker(), context.names.resume(lane))
            let counts = try await BrokerSession.with(broker, name: "bellhop fanouts") { try $0.checkQueue(queue) }
            return counts.map { Int($0.consumers) }
        }
    }
}

extension FanoutFilter {
    /// Creates the filter that the fields define.
    package init(_ fields: OperationFields, for act: String) throws(OperationError) {
        self.init()
        app = fields.text("app")
        event = fields.text("event")
        type = fields.text("type")
        topic = fields.text("topic")
        if let state = try fields.optional("state", "running, paused, cancelled or finished", FanoutState.init) {
            states = [state]
        }
        for item in fields.items {
            guard let number = Int64(item), number > 0 else {
                throw .unfit("\(act) takes numbers of fan-outs; found \(item)", field: "items")
            }
            numbers.append(number)
        }
    }

    /// The selected fan-outs, for an error.
    fileprivate var subject: String { numbers.first.map(String.init) ?? event ?? "the fan-outs" }
}

extension FanoutRecord {
    /// Describes why an act does not apply to the fan-out, and what affects its unsent pushes.
    fileprivate func presentState(for act: FanoutAdmin.Act, _ holds: [OperatorHold]) -> String {
        let words = "Fan-out \(number) is \(state.rawValue)"
        guard state == .finished else { return words + "." }
        let finished = words + ": all its records are in the app."
        guard holds.isEmpty else {
            return finished
                + holds.map { hold in
                    " Hold \(hold.number) (\(hold.scope.words)) stops its unsent pushes: bellhop hold discard "
                        + "\(hold.number) --event \(event) ends them, bellhop hold release \(hold.number) sends them."
                }.joined()
        }
        return act == .resume ? finished : finished + " Only a hold stops its unsent pushes: bellhop hold add."
    }
}
