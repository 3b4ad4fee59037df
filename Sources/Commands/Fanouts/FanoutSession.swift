import AMQP
import BellhopRules
import CLI
import Postgres
import Roles
import ServiceRuntime
import Store

/// One call of `bellhop fanouts`, with its connection to the database.
struct FanoutSession: Sendable {
    let call: Call
    let verb: FanoutVerb
    let setup: CommandContext
    let pool: PostgresPool

    private var words: Words { call.words }
    private var desk: FanoutAdmin { FanoutAdmin(pool: pool) }

    /// Performs `list`: fan-outs that can continue come first, then the most recent ones.
    func list() async throws -> ExitCode {
        let filter = try filter()
        guard filter.numbers.isEmpty else { throw words.misuse("list takes no number; show does") }
        let limit = try words.number("limit", in: 1...1_000) ?? 50
        let found = try await desk.latest(filter, atMost: limit)
        let count = found.count < limit ? found.count : try await desk.count(filter)
        let held = try await heldEvents(of: found)
        let views = found.map { FanoutView($0, isHeld: held.contains([$0.record.app, $0.record.event])) }
        call.answer(
            .members([("count", .int(count)), ("fanouts", .array(views.map { .members($0.members) }))]),
            lines: found.isEmpty
                ? ["No fan-outs match."] : FanoutView.table(views) + HumanText.rest(found.count, of: count, "fan-out")
        )
        return found.isEmpty ? .answerIsNo : .done
    }

    /// Performs `show`: it prints one fan-out with all details.
    func show() async throws -> ExitCode {
        let filter = try filter()
        guard filter.numbers.count == 1 || filter.numbers.isEmpty && filter.event != nil else {
            throw words.misuse("show requires one number or --event; see list")
        }
        let found = try await desk.latest(filter, atMost: 2)
        guard let progress = found.first else {
            throw failure(.answerIsNo, "there is none", "bellhop fanouts shows what there is")
        }
        guard found.count == 1 else {
            throw failure(.badInput, "apps \(found[0].record.app) and \(found[1].record.app) have one", "add --app")
        }
        let detail = try await desk.detail(of: progress.record.number)
        let surroundings = FanoutObstacles(
            status: progress.record.finishedAt == nil ? try await StoreStatus(of: pool) : nil,
            holds: try await holds(on: progress.record),
            consumers: progress.isWaiting(detail) ? await consumers(progress.record.priority.lane) : nil
        )
        let view = FanoutView(progress, detail: detail, surroundings: surroundings)
        call.answer(.members(view.members), lines: view.lines)
        return .done
    }

    /// Performs `pause`, `resume` and `cancel` on all fan-outs that match.
    func act() async throws -> ExitCode {
        guard let act = verb.act else { throw words.misuse("it cannot \(verb.rawValue)") }
        var filter = try filter()
        guard filter.isNarrow else { throw words.misuse("\(verb.rawValue) requires a fan-out number or a filter") }
        filter.states = act.acceptedStates
        let count = try await desk.count(filter)
        guard count > 0 else {
            let states = act.acceptedStates.map(\.rawValue).sorted().joined(separator: " or ")
            filter.states = Set(FanoutState.allCases)
            // An operator who named a fan-out by its number or its event needs to see its present state.
            let isNamed = !filter.numbers.isEmpty || filter.event != nil
            let named = isNamed ? try await desk.latest(filter, atMost: Self.shownBefore) : []
            let others = named.map { Self.presentState(of: $0.record) }
            call.answer(Self.result(0), lines: ["No fan-outs match that are \(states)."] + others)
            return .answerIsNo
        }
        if words.has("dry-run") { return try await foresee(filter, count) }
        guard try call.confirm(count, "\(verb.rawValue)s \(count.of("fan-out"))") else { return .answerIsNo }
        switch try await desk.perform(act, on: filter, agreed: count, by: try call.actingOperator()) {
        case .done(let items):
            call.answer(Self.result(items), lines: ["\(act.pastWords) \(items.of("fan-out"))."])
            return .done
        case .moreThanAgreed(let items):
            let cameBack = "\(items.of("fan-out")) match now, and \(count.grouped) were agreed to"
            throw failure(.tryAgain, cameBack, "nothing was changed; look again")
        }
    }

    private func foresee(_ filter: FanoutFilter, _ count: Int) async throws -> ExitCode {
        let meant = try await desk.latest(filter, atMost: Self.shownBefore).map { FanoutView($0) }
        call.answer(
            .members([("count", .int(count)), ("fanouts", .array(meant.map { .members($0.members) }))]),
            lines: ["This would \(verb.rawValue) \(count.of("fan-out")); nothing was changed.", ""]
                + FanoutView.table(meant)
                + (meant.count < count ? ["\(meant.count) of \(count.of("fan-out"))."] : [])
        )
        return .done
    }

    private static func presentState(of record: FanoutRecord) -> String {
        let state = "Fan-out \(record.number) is \(record.state.rawValue)"
        guard record.state == .finished else { return state + "." }
        return state + ": all its records exist. Only a hold stops its pushes that are not sent yet: bellhop hold add."
    }

    private static let shownBefore = 50
    private static func result(_ items: Int) -> JSONValue { .members([("fanouts", .int(items))]) }

    // MARK: - Holds

    /// Returns the holds that may affect the fan-out, with the number of its deliveries that wait behind each.
    private func holds(on record: FanoutRecord) async throws -> [HeldShare] {
        var shares: [HeldShare] = []
        for hold in try await OperatorHold.all(on: pool) where hold.scope.mayConcern(record) {
            let selection = HoldSelection(hold.scope, of: hold.number, event: EventID(validating: record.event))
            let count = try await HoldAdmin(pool: pool).count(selection)
            shares.append(HeldShare(hold: hold, waiting: count.deliveries))
        }
        return shares
    }

    /// Returns app and event of each fan-out with deliveries behind a hold.
    private func heldEvents(of found: [FanoutProgress]) async throws -> Set<[String]> {
        var held: Set<[String]> = []
        for hold in try await OperatorHold.all(on: pool) {
            guard found.contains(where: { hold.scope.mayConcern($0.record) }) else { continue }
            let events = try await HoldAdmin(pool: pool).events(of: hold.scope)
            held.formUnion(events.map { [hold.scope.app.text, $0.text] })
        }
        return held
    }

    // MARK: - Selection

    private func filter() throws(CommandFailure) -> FanoutFilter {
        var filter = FanoutFilter()
        filter.app = words.value("app")
        filter.event = words.value("event")
        filter.type = words.value("type")
        filter.topic = words.value("topic")
        if let state = try words.optional("state", "running, paused, cancelled or finished", FanoutState.init) {
            filter.states = [state]
        }
        for word in words.operands.dropFirst() {
            guard let number = Int64(word), number > 0 else {
                throw words.misuse("\(verb.rawValue) takes numbers of fan-outs; found \(word)")
            }
            filter.numbers.append(number)
        }
        return filter
    }

    private func failure(_ code: ExitCode, _ cameBack: String, _ whatToDo: String) -> CommandFailure {
        let which = words.operands.dropFirst().first ?? words.value("event") ?? "the fan-outs"
        return CommandFailure(
            code,
            attempted: "\(verb.rawValue) \(which)",
            cameBack: cameBack,
            whatToDo: whatToDo
        )
    }

    /// Returns the number of workers that consume the queue of pages, or `nil` if the broker cannot be asked.
    private func consumers(_ lane: Lane) async -> Int? {
        guard setup.configuration.amqpURL != nil, let broker = try? setup.broker() else { return nil }
        let queue = setup.names.resume(lane)
        let found = try? await BrokerSession.with(broker, name: "bellhop fanouts") { try $0.checkQueue(queue) }
        return found.map { Int($0.consumers) }
    }
}

extension FanoutAdmin.Act {
    fileprivate var pastWords: String {
        switch self {
        case .pause: "Paused"
        case .resume: "Resumed"
        case .cancel: "Cancelled"
        }
    }
}
