import BellhopRules
import Postgres
import ServiceRuntime
import Store

/// What somebody asks of the desk.
struct DeskRequest: Sendable {
    let call: Call
    let verb: DeskVerb
    let setup: Setup

    var words: Words { call.words }
    var shell: Shell { call.shell }
    var configuration: BellhopConfiguration { setup.configuration }
}

/// One command at the desk, with its connection to the database; the verbs are in extensions.
struct DeskSession: Sendable {
    let request: DeskRequest
    let pool: PostgresPool
    let desk: DeadLetterDesk
    let now: Timestamp

    /// Runs a body and closes the connection behind it.
    static func with(
        _ request: DeskRequest,
        _ body: @Sendable (DeskSession) async throws -> ExitCode
    ) async throws -> ExitCode {
        let name = DeadLettersCommand.name
        return try await request.setup.withPool(as: .admin, name: name, size: 2, patience: .seconds(120)) { pool in
            let desk = DeadLetterDesk(pool: pool)
            return try await body(DeskSession(request: request, pool: pool, desk: desk, now: SystemTime().timestamp))
        }
    }

    var setup: Setup { request.setup }
    var words: Words { request.words }
    var isJSON: Bool { request.call.isJSON }

    /// The words behind the verb.
    var operands: [String] { Array(words.operands.dropFirst()) }

    /// Prints one line, whatever a letter brought into it.
    func print(_ line: String) {
        request.shell.print(line: line)
    }

    /// Prints an answer: one value for a program, lines for people, whatever a letter brought into them.
    func answer(
        _ json: @autoclosure () -> JSONText,
        lines: @autoclosure () -> [String],
        emphasis: (_ index: Int, _ line: String) -> Emphasis = { _, _ in .plain }
    ) {
        request.call.answer(json(), lines: lines(), emphasis: emphasis)
    }

    /// How wide the reader's terminal is; nil where nobody knows.
    var width: Int? { request.shell.output.width }

    // MARK: - Who, which, how many

    /// The filter of the command line, with the items that it names by the beginnings of their ids.
    func filter() async throws -> DeadLetterFilter {
        var filter = try DeadLetterFilter(words, now: now)
        try await expectKnown(filter)
        if let beginning = filter.fingerprint { filter.fingerprint = try await fingerprint(beginning) }
        for text in operands { filter.ids.append(try await item(text)) }
        return filter
    }

    /// The same for an act, which nobody wants to do to everything by forgetting a word.
    func filterOfAct() async throws -> DeadLetterFilter {
        var filter = try await filter()
        try filter.expectMeant(words, request.verb)
        filter.filedBy = request.shell.agreedAsOf
        return filter
    }

    /// A word that nothing here or anywhere has ever had is a slip: "no items match" would be believed.
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

    /// The one group whose fingerprint begins like this.
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

    /// The one item whose id begins like this.
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

    func deskOperator() throws(CommandFailure) -> DeskOperator { try request.call.deskOperator() }

    func confirm(_ count: Int, asOf: Timestamp? = nil, _ deed: String) throws(CommandFailure) -> Bool {
        try request.call.confirm(count, asOf: asOf, deed)
    }

    func failure(_ code: ExitCode, _ cameBack: String, _ whatToDo: String, _ what: String = "items") -> CommandFailure {
        let attempted = "\(request.verb.rawValue) \(what)"
        return CommandFailure(code, attempted: attempted, cameBack: cameBack, whatToDo: whatToDo)
    }

    /// What is said where there are more items now than somebody has agreed to.
    func moreThanAgreed(_ items: Int, _ agreed: Int, _ consequence: String) -> CommandFailure {
        let cameBack = "\(items.of("item")) match now, and \(agreed.grouped) were agreed to"
        return failure(.tryAgain, cameBack, "\(consequence); look again")
    }

    /// The one item that a verb takes, with all that is known of it.
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
    /// Says what is missing where an act has neither items, nor a filter, nor the word for everything.
    func expectMeant(_ words: Words, _ verb: DeskVerb) throws(CommandFailure) {
        if isNarrow, words.has("all") { throw words.misuse("--all means everything, and there is a filter beside it") }
        guard isNarrow || words.has("all") else {
            throw words.misuse("\(verb.rawValue) requires items, a filter, or --all")
        }
    }
}
