import BellhopRules
import CLI
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    /// Performs `note`, `discard` and `restore` on all items that match the filter.
    func act() async throws -> ExitCode {
        let act = meantAct
        let filter = narrowed(try await filterOfAct(), for: act)
        return try await perform(act, on: filter)
    }

    private var meantAct: DeadLetterAction {
        switch request.verb {
        case .discard: .discard
        case .restore: .restore
        default: .note
        }
    }

    /// Limits the filter to the states that an act accepts.
    ///
    /// A note applies to named items in every state.
    private func narrowed(_ filter: DeadLetterFilter, for act: DeadLetterAction) -> DeadLetterFilter {
        var filter = filter
        if let state = act.acceptedState { filter = filter.with(state: state) }
        if act == .note, words.value("state") == nil, !operands.isEmpty {
            filter.states = Set(DeadLetterState.allCases)
        }
        return filter
    }

    /// Performs `undo ACT`: it reverses one act for the items that were not changed since.
    func undo() async throws -> ExitCode {
        guard let text = operands.first, operands.count == 1, let number = Int64(text) else {
            throw words.misuse("undo takes the number of one act; audit has them")
        }
        guard let entry = try await desk.auditEntry(number) else {
            throw failure(.answerIsNo, "there is no such act", "bellhop dead-letters audit lists them", text)
        }
        guard let reverse = entry.reverse else {
            throw failure(.answerIsNo, "it was \(entry.act), which undo cannot take back", entry.remedy, text)
        }
        var filter = DeadLetterFilter()
        filter.act = number
        filter.filedBy = request.shell.agreedAsOf
        if let state = reverse.acceptedState { filter = filter.with(state: state) }
        return try await perform(reverse, on: filter)
    }

    private func perform(_ act: DeadLetterAction, on filter: DeadLetterFilter) async throws -> ExitCode {
        var filter = filter
        let count = try await desk.count(filter)
        guard count.items > 0 else {
            let state = act.acceptedState?.rawValue ?? "known"
            answer(Self.result(0), lines: ["No items match that are \(state)."])
            return .answerIsNo
        }
        let deed = "\(act.words) \(count.items.of("item")) of \(count.users.of("user"))"
        filter.filedBy = filter.filedBy ?? count.asOf
        guard try confirm(count.items, asOf: filter.filedBy, deed) else { return .answerIsNo }
        let (outcome, number) = try await desk.carryOut(act, on: filter, agreed: count.items, by: try actingOperator())
        switch outcome {
        case .moreThanAgreed(let items):
            throw moreThanAgreed(items, count.items, "nothing was changed")
        case .done(let items):
            let undoing = act == .note ? nil : number.map { " bellhop dead-letters undo \($0) takes it back." }
            answer(
                .members([("items", .int(items)), ("act", number.map { .int($0) } ?? .null)]),
                lines: ["\(act.pastWords) \(items.of("item")).\(undoing ?? "")"]
            )
            return .done
        }
    }

    /// In a narrower terminal, the column of reasons is more important than exact times.
    private static let roomForInstants = 120

    private static func result(_ items: Int) -> JSONValue { .members([("items", .int(items))]) }

    /// Performs `audit`: it lists operators' acts, the most recent first.
    func audit() async throws -> ExitCode {
        try expectNoItems()
        let limit = try words.number("limit", in: 1...100_000) ?? 50
        let entries = try await desk.auditLog(atMost: limit)
        let now = SystemTime().timestamp
        let isNarrow = (width ?? .max) < Self.roomForInstants
        let rows = entries.map { entry in
            [
                String(entry.number), isNarrow ? HumanText.ago(entry.at, now) : HumanText.instant(entry.at),
                HumanText.cut(entry.operator, to: 20),
                HumanText.cut(entry.login ?? "-", to: 20), entry.act + (entry.replay.map { " \($0)" } ?? ""),
                entry.items.grouped, HumanText.cut(entry.filterWords, to: 500), HumanText.cut(entry.because, to: 500),
            ]
        }
        let columns = ["number", "when", "who", "log-in", "act", "items", "filter", "because"]
        let table = TextTable(columns, texts: [1, 2, 3, 4, 6, 7], flexible: [6, 7], optional: [3], rows: rows)
        answer(
            .members([("acts", .array(entries.map(\.json)))]),
            lines: entries.isEmpty ? ["No actions yet."] : table.lines(fitting: width),
            emphasis: { index, _ in index == 0 ? .heading : .plain }
        )
        return .done
    }
}

extension DeadLetterAction {
    /// The text after "This".
    fileprivate var words: String {
        switch self {
        case .discard: "discards"
        case .restore: "restores"
        case .note: "adds a note to"
        }
    }

    fileprivate var pastWords: String {
        switch self {
        case .discard: "Discarded"
        case .restore: "Restored"
        case .note: "Added a note to"
        }
    }
}

extension AuditEntry {
    /// The act that reverses this one, or `nil` if none does.
    fileprivate var reverse: DeadLetterAction? {
        switch DeadLetterAction(rawValue: act) {
        case .discard: .restore
        case .restore: .discard
        case .note, nil: nil
        }
    }

    /// The alternative to an undo.
    fileprivate var remedy: String {
        switch act {
        case "replay", "resume", "edit":
            replay.map { "bellhop dead-letters cancel \($0) stops what has not gone out" } ?? "nothing is to be done"
        case "pause": replay.map { "bellhop dead-letters resume \($0)" } ?? "nothing is to be done"
        case "hold-add": "bellhop hold list, then release it"
        default: "it stands"
        }
    }

    /// The filter as `app drop, reason malformed-json`.
    fileprivate var filterWords: String {
        let words = filter.members.filter { $0.key != "itemCount" }.map { member in
            if member.key == "items" { return "items \(itemWords)" }
            let list = member.value.array.map { $0.compactMap(\.string).joined(separator: ", ") }
            let value =
                member.value.string ?? list
                ?? String(decoding: JSONWriter.canonicalBytes(of: member.value), as: UTF8.self)
            return "\(member.key) \(value)"
        }
        // The file determines which items are imported.
        let nothing = act == "import" ? "-" : "all open items"
        return words.isEmpty ? nothing : words.joined(separator: ", ")
    }

    /// The first named item, and the number of further named items.
    private var itemWords: String {
        let named = filter["items"]?.array?.compactMap(\.string) ?? []
        let count = filter["itemCount"]?.number?.int64.map { Int(clamping: $0) } ?? named.count
        return (named.first ?? "-") + (count > 1 ? " and \((count - 1).grouped) more" : "")
    }

    fileprivate var json: JSONValue {
        .members([
            ("number", .int(number)), ("at", .string(at.description)), ("by", .string(self.operator)),
            ("login", .optional(login)),
            ("act", .string(act)),
            ("filter", .object(filter)), ("items", .int(items)),
            ("because", .string(because)), ("replay", replay.map { .int($0) } ?? .null),
        ])
    }
}
