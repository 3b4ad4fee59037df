package import BellhopRules
import ServiceRuntime
package import Store

/// The input of an operation on dead letters, with the time from which its spans count.
package struct DeadLetterInput: Sendable {
    /// The operation's verb, such as `replay`, for errors.
    package let verb: String
    package let fields: OperationFields
    package let now: Timestamp

    package init(_ verb: String, _ fields: OperationFields, now: Timestamp = SystemTime().timestamp) {
        self.verb = verb
        self.fields = fields
        self.now = now
    }

    /// Makes an error about an item, or about the items of the operation.
    package func error(
        _ kind: OperationError.Kind,
        _ message: String,
        advice: String,
        about subject: String = "items"
    ) -> OperationError {
        OperationError(kind, attempted: "\(verb) \(subject)", message, advice: advice)
    }

    /// Makes the error for more items than the operator has agreed to.
    func tooMany(_ items: Int, agreed: Int, _ consequence: String) -> OperationError {
        let message = "\(items.of("item")) match now, and \(agreed.grouped) were agreed to"
        return error(.tryAgain, message, advice: "\(consequence); look again")
    }

    func expectNoItems() throws(OperationError) {
        guard let first = fields.items.first else { return }
        throw .unfit("\(verb) takes no operand; found \(first)", field: "items")
    }

    /// Returns the number of a replay, or `nil` if none is given.
    package func replayNumber() throws(OperationError) -> Int64? {
        guard let text = fields.items.first else { return nil }
        guard fields.items.count == 1, let id = Int64(text) else {
            let found = fields.items.joined(separator: " ")
            throw .unfit("expected the number of a replay; found \(found)", field: "items")
        }
        return id
    }

    /// Returns the number of the replay that an act is about.
    package func requiredReplay() throws(OperationError) -> Int64 {
        guard let id = try replayNumber() else {
            throw .unfit("\(verb) takes a replay's number", field: "items")
        }
        return id
    }

    /// Reports the missing field if an act has no items, no filter and no `all`.
    ///
    /// A forgotten word must not select everything.
    package func expectChoice(_ filter: DeadLetterFilter) throws(OperationError) {
        if filter.isNarrow, fields.has("all") {
            throw .unfit("--all means everything, and there is a filter beside it", field: "all")
        }
        guard filter.isNarrow || fields.has("all") else {
            throw .unfit("\(verb) requires items, a filter, or --all", field: "items")
        }
    }
}

extension DeadLetterFilter {
    /// The names of the fields that a filter reads, without the state.
    package static let fields: Set<String> = [
        "app", "type", "reason", "stage", "provider", "fingerprint", "user", "event", "text", "since", "until", "limit",
    ]

    /// Creates the filter that the fields define, without the items that they name.
    package init(_ input: DeadLetterInput) throws(OperationError) {
        let fields = input.fields
        self.init()
        app = fields.text("app")
        type = fields.text("type")
        reason = fields.text("reason")
        stage = fields.text("stage")
        provider = fields.text("provider")
        fingerprint = fields.text("fingerprint")
        user = fields.text("user")
        event = fields.text("event")
        text = fields.text("text")
        since = try fields.time(before: input.now, "since")
        until = try fields.time(before: input.now, "until")
        limit = try fields.number("limit", in: 1...10_000_000)
        let state = try fields.optional("state", "open, replaying, resolved, discarded or all") { name in
            name == "all" ? Set(DeadLetterState.allCases) : DeadLetterState(rawValue: name).map { [$0] }
        }
        states = state ?? states
    }

    /// The filter's reason, stage and provider, each with the names that Bellhop uses.
    private var names: [(member: DeadLetterCause.Member, name: String, known: [String])] {
        let all: [(DeadLetterCause.Member, String?, [String])] = [
            (.reason, reason, DeadLetterAdvice.byReason.keys.sorted()),
            (.stage, stage, DeadLetterCause.Stage.known.map(\.rawValue)),
            (.provider, provider, CheckedProvider.allCases.map(\.rawValue)),
        ]
        return all.compactMap { member, name, known in name.map { (member, $0, known) } }
    }

    /// Rejects a reason, stage or provider that Bellhop does not use and that no item has.
    ///
    /// It is probably a typo, and an operator would trust the answer "no items match".
    package func expectKnownNames(
        unless isUsed: (DeadLetterCause.Member, String) async throws -> Bool = { _, _ in false }
    ) async throws {
        for (member, name, known) in names where !known.contains(name) {
            guard try await !isUsed(member, name) else { continue }
            let hint =
                NearestName.find(name, among: known).map { ", did you mean \($0)?" }
                ?? "; there are \(known.joined(separator: ", "))"
            throw OperationError.unfit("no \(member.rawValue) is called \(name)\(hint)", field: member.rawValue)
        }
    }
}

extension DeadLetterInput {
    /// The items per second, or `nil` if no rate is given.
    func rate() throws(OperationError) -> Int? { try fields.number("rate", in: 1...100_000, unit: "/s") }

    /// The pace of a replay.
    func pace() throws(OperationError) -> ReplayOrder.Pace {
        var pace = ReplayOrder.Pace(isRamped: fields.has("ramp"))
        pace.rate = try rate()
        if let share = try fields.number("pause-at", in: 1...100) { pace.pauseShare = share }
        pace.notBefore = try fields.time(after: now, "at")
        return pace
    }
}
