import BellhopRules
import CLI
import Operations
import Postgres
import Roles
import ServiceRuntime
import Settings
import Store

/// An operator's call of a dead-letter command.
struct DeadLetterRequest: Sendable {
    let call: Call
    let verb: DeadLetterVerb
    let setup: CommandContext

    var words: Words { call.words }
    var shell: CommandEnvironment { call.shell }
    var configuration: BellhopConfiguration { setup.configuration }
}

/// One call of a dead-letter command, with its connection to the database.
///
/// The verbs are in extensions.
struct DeadLetterSession: Sendable {
    let request: DeadLetterRequest
    let pool: PostgresPool
    let desk: DeadLetterAdmin
    let now: Timestamp

    /// Runs a body and closes the connection afterwards.
    static func with(
        _ request: DeadLetterRequest,
        _ body: @Sendable (DeadLetterSession) async throws -> ExitCode
    ) async throws -> ExitCode {
        let name = DeadLettersCommand.name
        return try await request.setup.withPool(as: .admin, name: name, size: 2, patience: .seconds(120)) { pool in
            let desk = DeadLetterAdmin(pool: pool)
            return try await body(
                DeadLetterSession(request: request, pool: pool, desk: desk, now: SystemTime().timestamp)
            )
        }
    }

    var setup: CommandContext { request.setup }
    var words: Words { request.words }
    var isJSON: Bool { request.call.isJSON }

    /// The words after the verb.
    var operands: [String] { Array(words.operands.dropFirst()) }

    /// Prints one line.
    ///
    /// No content of a dead letter can end it.
    func print(_ line: String) {
        request.shell.print(line: line)
    }

    /// Prints an answer: one value for a program, or lines for people.
    ///
    /// No content of a dead letter can end a line.
    func answer(
        _ json: @autoclosure () -> JSONValue,
        lines: @autoclosure () -> [String],
        emphasis: (_ index: Int, _ line: String) -> LineStyle = { _, _ in .plain }
    ) {
        request.call.answer(json(), lines: lines(), emphasis: emphasis)
    }

    /// The width of the terminal, or `nil` if it is unknown.
    var width: Int? { request.shell.output.width }

    // MARK: - Operator, items and counts

    /// Returns the filter of the command line, with the items that it names by prefixes of their ids.
    func filter() async throws -> DeadLetterFilter {
        var filter = try DeadLetterFilter(words, now: now)
        try await expectKnown(filter)
        if let beginning = filter.fingerprint { filter.fingerprint = try await fingerprint(beginning) }
        for text in operands { filter.ids.append(try await item(text)) }
        return filter
    }

    /// Returns the filter of an act.
    ///
    /// It must be explicit, so that a forgotten word does not select everything.
    func filterOfAct() async throws -> DeadLetterFilter {
        var filter = try await filter()
        try filter.expectMeant(words, request.verb)
        filter.filedBy = request.shell.agreedAsOf
        return filter
    }

    /// Rejects a reason, stage or provider that is unknown and that no item has.
    ///
    /// It is probably a typo, and an operator would trust the answer "no items match".
    private func expectKnown(_ filter: DeadLetterFilter) async throws {
        let known: [(DeadLetterCause.Member, String?, [String])] = [
            (.reason, filter.reason, DeadLetterAdvice.byReason.keys.sorted()),
            (.stage, filter.stage, DeadLetterCause.Stage.known.map(\.rawValue)),
            (.provider, filter.provider, CheckedProvider.allCases.map(\.rawValue)),
        ]
        for (member, word, words) in known {
            guard let word, !words.contains(word), try await !desk.has(member, word) else { continue }
            throw self.words.misuse("no \(member.rawValue) is called \(word)\(DeadLetterFilter.hint(word, words))")
        }
    }

    /// Returns the fingerprint with this prefix, which must be unique.
    private func fingerprint(_ text: String) async throws -> String {
        let found = try await desk.fingerprints(beginningWith: text, atMost: 2)
        guard found.count > 1, !found.contains(text) else { return found.first ?? text }
        throw failure(
            .badInput,
            "several groups begin like this, such as \(found[0]) and \(found[1])",
            "say more",
            text
        )
    }

    func expectNoItems() throws(CommandFailure) {
        guard let first = operands.first else { return }
        throw words.misuse("\(request.verb.rawValue) takes no operand; found \(first)")
    }

    /// Returns the id with this prefix, which must be unique.
    func item(_ text: String) async throws -> String {
        let ids = try await desk.ids(beginningWith: text, atMost: 3)
        if ids.contains(text) { return text }
        guard let only = ids.first else {
            throw failure(.answerIsNo, "unknown item", "bellhop dead-letters list shows what there is", text)
        }
        guard ids.count == 1 else {
            throw failure(.badInput, "several items begin like this, such as \(ids[0]) and \(ids[1])", "say more", text)
        }
        return only
    }

    func actingOperator() throws(CommandFailure) -> ActingOperator { try request.call.actingOperator() }

    func confirm(_ count: Int, asOf: Timestamp? = nil, _ deed: String) throws(CommandFailure) -> Bool {
        try request.call.confirm(count, asOf: asOf, deed)
    }

    func failure(_ code: ExitCode, _ cameBack: String, _ whatToDo: String, _ what: String = "items") -> CommandFailure {
        let attempted = "\(request.verb.rawValue) \(what)"
        return CommandFailure(code, attempted: attempted, cameBack: cameBack, whatToDo: whatToDo)
    }

    /// Makes the failure for more items than the operator has confirmed.
    func moreThanAgreed(_ items: Int, _ agreed: Int, _ consequence: String) -> CommandFailure {
        let cameBack = "\(items.of("item")) match now, and \(agreed.grouped) were agreed to"
        return failure(.tryAgain, cameBack, "\(consequence); look again")
    }

    /// Returns the one item that a verb takes, with all its details.
    func detail() async throws -> DeadLetterDetail {
        guard operands.count == 1 else {
            throw words.misuse("\(request.verb.rawValue) takes one item; list has their names")
        }
        let id = try await item(operands[0])
        guard let detail = try await desk.detail(id) else {
            throw failure(.answerIsNo, "it was deleted at this moment", "look again", id)
        }
        return detail
    }
}

extension DeadLetterFilter {
    /// Reports the missing argument if an act has no items, no filter and no `--all`.
    func expectMeant(_ words: Words, _ verb: DeadLetterVerb) throws(CommandFailure) {
        if isNarrow, words.has("all") { throw words.misuse("--all means everything, and there is a filter beside it") }
        guard isNarrow || words.has("all") else {
            throw words.misuse("\(verb.rawValue) requires items, a filter, or --all")
        }
    }
}
