import BellhopJSON
import BellhopRules
import CLI
import Postgres
import Roles
import ServiceRuntime
import Store

/// One call of `bellhop hold`, with its connection to the database.
struct HoldSession: Sendable {
    let call: Call
    let verb: HoldVerb
    let setup: CommandContext
    let pool: PostgresPool

    private var words: Words { call.words }
    private var desk: HoldAdmin { HoldAdmin(pool: pool) }

    /// Performs `list`: it shows the active holds and the number of deliveries behind each.
    func list() async throws -> ExitCode {
        guard words.operands.count <= 1 else { throw words.misuse("list takes no number") }
        let app = words.value("app")
        let holds = try await desk.all().filter { hold in app.map { hold.scope.app.text == $0 } ?? true }
        let views = try await views(holds)
        call.answer(
            .members([("holds", .array(views.map(\.json)))]),
            lines: views.isEmpty ? ["Nothing is held."] : HoldView.table(views).lines()
        )
        return views.isEmpty ? .answerIsNo : .done
    }

    /// Performs `add`: from now on nothing in the hold's scope is sent.
    func add() async throws -> ExitCode {
        guard words.operands.count == 1 else { throw words.misuse("add takes --app, and no operand") }
        let scope = try scope()
        if try !isKnown(scope) {
            call.shell.complaints.print(
                line: "bellhop: without catalogues (BELLHOP_CATALOGS) it was not checked that there is \(scope.words)"
            )
        }
        switch try await desk.place(scope, by: try call.actingOperator()) {
        case .placed(let hold):
            try await tell(
                hold,
                added: true,
                "Hold \(hold.number): \(scope.words). Workers stop within two seconds; what comes is recorded in the app, "
                    + "and waits."
            )
            return .done
        case .isHeld(let hold):
            let since = HumanText.ago(hold.placedAt, SystemTime().timestamp)
            try await tell(
                hold,
                added: false,
                "\(scope.words) is held already: \(hold.operator) did so \(since), hold \(hold.number): \(hold.because)."
            )
            return .done
        case .tooMany:
            throw failure(
                .answerIsNo,
                "\(HoldStore.most) holds are active, which is the limit",
                "release some, or hold the whole app"
            )
        }
    }

    private func tell(_ hold: OperatorHold, added: Bool, _ sentence: String) async throws {
        guard let view = try await views([hold]).first else { return }
        call.answer(
            .members([("added", .bool(added)), ("hold", view.json)]),
            lines: [
                sentence, "\(view.countAtFirst) bellhop hold release \(hold.number) lets them go.",
            ]
        )
    }

    /// Performs `release`: the waiting deliveries are sent, within concurrency and rate limits.
    func release() async throws -> ExitCode {
        let hold = try await meant()
        let view = try await views([hold]).first
        guard let released = try await desk.release(hold.number, by: try call.actingOperator()) else {
            throw failure(.tryAgain, "another operator has just released it", "see bellhop hold list")
        }
        let others = try await desk.all().filter { $0.scope.overlaps(released.scope) }
        call.answer(
            .members([
                ("released", view?.json ?? .null), ("heldBy", .array(others.map { .int($0.number) })),
            ]),
            lines: [
                "Released hold \(released.number): \(released.scope.words). "
                    + Self.consequence(view?.countAndWhere ?? "0", of: released.scope, others)
            ]
        )
        return .done
    }

    /// Describes the effect of a release, and the remaining effect of other holds.
    private static func consequence(_ waiting: String, of scope: HoldScope, _ others: [OperatorHold]) -> String {
        let names = others.map { "\($0.number) (\($0.scope.words))" }.joined(separator: "; ")
        if others.contains(where: { $0.scope.contains(scope) }) {
            return "\(waiting) waited, and wait still: held, too, by \(names)."
        }
        let rest = others.isEmpty ? "" : " These holds still apply: \(names)."
        return "\(waiting) waited, and go out from now on; what is deferred for quiet hours, a digest or a retry "
            + "follows in its time.\(rest)"
    }

    /// Performs `discard`: deliveries behind a hold are never sent.
    ///
    /// The notifications stay in the app.
    func discard() async throws -> ExitCode {
        let hold = try await meant()
        let event: EventID? = try words.optional("event", EventID.rule, EventID.init(validating:))
        var selection = HoldSelection(hold.scope, of: hold.number, event: event)
        selection.recordedBy = call.shell.agreedAsOf
        let count = try await desk.count(selection)
        guard count.deliveries > 0 else {
            call.answer(Self.result(0), lines: ["Nothing waits behind hold \(hold.number) that matches."])
            return .answerIsNo
        }
        let meant = "\(deliveries(count.deliveries)) to \(count.users.of("user"))"
        if words.has("dry-run") {
            call.answer(
                .members([("wouldDiscard", .int(count.deliveries)), ("users", .int(count.users))]),
                lines: ["This would discard \(meant), held by \(hold.scope.words); nothing was changed."]
            )
            return .done
        }
        let asOf = selection.recordedBy ?? count.asOf
        selection.recordedBy = asOf
        guard try call.confirm(count.deliveries, asOf: asOf, "discards \(meant), held by \(hold.scope.words)") else {
            return .answerIsNo
        }
        let done = try await desk.discard(selection, agreed: count.deliveries, by: try call.actingOperator())
        guard done.isHeld else {
            throw failure(
                .tryAgain,
                "hold \(hold.number) was released meanwhile, after \(deliveries(done.done)) had been discarded",
                "the others go out; hold it again to stop them"
            )
        }
        call.answer(
            Self.result(done.done, left: done.left),
            lines: ["Discarded \(deliveries(done.done)); hold \(hold.number) stays active.", Self.rest(done.left)]
        )
        return .done
    }

    private static func result(_ count: Int, left: Int = 0) -> JSONValue {
        .members([("discarded", .int(count)), ("left", .int(left))])
    }

    /// Describes the deliveries that a discard has not reached.
    private static func rest(_ left: Int) -> String {
        left > 0
            ? "\(left.grouped) wait still: discard again before you release."
            : "Deliveries deferred for quiet hours, a digest or a retry reach the hold later: check again before you "
                + "release."
    }

    private func deliveries(_ count: Int) -> String {
        count.of("delivery", "deliveries")
    }

    private func views(_ holds: [OperatorHold]) async throws -> [HoldView] {
        let backlogs = holds.isEmpty ? [] : try await StoreStatus.backlogs(pool)
        return holds.map { HoldView($0, backlogs, asOf: SystemTime().timestamp) }
    }

    // MARK: - Selection

    /// Returns the scope that the options define.
    private func scope() throws(CommandFailure) -> HoldScope {
        let providers = CheckedProvider.allCases.map(\.rawValue)
        return HoldScope(
            app: try words.required("app"),
            type: try words.optional("type", EventType.rule, EventType.init(validating:)),
            provider: try words.optional("provider", "one of \(providers.joined(separator: ", "))") { name in
                providers.contains(name) ? name : nil
            }
        )
    }

    /// Returns the selected hold, given by its number or by its exact scope.
    private func meant() async throws -> OperatorHold {
        let holds = try await desk.all()
        let operands = words.operands.dropFirst()
        let found: OperatorHold?
        if let text = operands.first {
            guard operands.count == 1, let number = Int64(text), words.given.isDisjoint(with: Self.scopeOptions) else {
                throw words.misuse(
                    "\(verb.rawValue) requires the number of one hold, or --app and the options of its add"
                )
            }
            found = holds.first { $0.number == number }
        } else {
            let scope = try scope()
            found = holds.first { $0.scope == scope }
        }
        guard let found else {
            let others = holds.map { "\($0.number) (\($0.scope.words))" }.joined(separator: "; ")
            throw failure(
                .answerIsNo,
                "unknown hold",
                holds.isEmpty ? "nothing is held" : "in force: \(others)"
            )
        }
        return found
    }

    private static let scopeOptions: Set<String> = ["app", "type", "provider"]

    /// Whether the names are known.
    ///
    /// An unknown name is rejected, because such a hold would stop nothing and the operator would not notice it. The
    /// result is false if no catalogues are configured, so that the names cannot be checked.
    private func isKnown(_ scope: HoldScope) throws -> Bool {
        guard setup.configuration.catalogs != nil else { return false }
        let catalogs = try setup.catalogs()
        guard let catalog = catalogs[scope.app] else {
            let hint = NearestName.hint(scope.app.text, among: catalogs.catalogs.map(\.app.text))
            throw words.misuse("no catalogue describes \(scope.app)\(hint)")
        }
        if let type = scope.type, catalog[type] == nil {
            let hint = NearestName.hint(type.text, among: catalog.types.map(\.type.text))
            throw words.misuse("\(scope.app) has no type \(type)\(hint)")
        }
        let provider = scope.provider.flatMap(PushProvider.init(rawValue:))
        if let provider, !catalog.uses(provider) {
            throw words.misuse("\(scope.app) sends nothing through \(provider.rawValue); see its catalogue")
        }
        return true
    }

    private func failure(_ code: ExitCode, _ cameBack: String, _ whatToDo: String) -> CommandFailure {
        let which = words.operands.dropFirst().first ?? words.value("app") ?? "holds"
        return CommandFailure(code, attempted: "\(verb.rawValue) \(which)", cameBack: cameBack, whatToDo: whatToDo)
    }
}
