import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `note`, `discard` and `restore`: to everything that the filter means.
    func act() async throws -> ExitCode {
        let act: DeskAct
        switch request.verb {
        case .discard: act = .discard
        case .restore: act = .restore
        default: act = .note
        }
        var filter = try await filter()
        if let state = act.acceptedState { filter = filter.with(state: state) }
        if act == .note, words.value("state") == nil, !operands.isEmpty {
            filter.states = Set(DeadLetterState.allCases)
        }
        let count = try await desk.count(filter)
        guard count.items > 0 else {
            let state = act.acceptedState?.rawValue ?? "known"
            answer(Self.result(0), lines: ["No items match that are \(state)."])
            return .answerIsNo
        }
        let deed = "\(act.words) \(count.items.of("item")) of \(count.users.of("user"))"
        guard try confirm(count.items, deed) else { return .answerIsNo }
        filter.filedBy = count.asOf
        let outcome = try await desk.perform(act, on: filter, agreed: count.items, by: try deskOperator())
        switch outcome {
        case .moreThanAgreed(let items):
            throw moreThanAgreed(items, count.items, "nothing was changed")
        case .done(let items):
            answer(Self.result(items), lines: ["\(act.pastWords) \(items.of("item"))."])
            return .done
        }
    }

    private static func result(_ items: Int) -> JSONText { .object([("items", .number(items))]) }

    /// `audit`: who did what, the latest first.
    func audit() async throws -> ExitCode {
        try expectNoItems()
        let limit = try words.number("limit", in: 1...100_000) ?? 50
        let entries = try await desk.auditLog(atMost: limit)
        let rows = entries.map { entry in
            [
                DeskText.instant(entry.at), DeskText.cut(entry.operator, to: 20),
                DeskText.cut(entry.login ?? "-", to: 20), entry.act + (entry.replay.map { " \($0)" } ?? ""),
                entry.items.grouped, DeskText.cut(entry.filterWords, to: 60), DeskText.cut(entry.because, to: 60),
            ]
        }
        let columns = ["when", "who", "log-in", "act", "items", "filter", "because"]
        let table = TextTable(columns, texts: [1, 2, 3, 5, 6], rows: rows)
        answer(
            .list(entries.map(\.json)),
            lines: entries.isEmpty ? ["Nobody has done anything yet."] : table.lines()
        )
        return .done
    }
}

extension DeskAct {
    /// After "This".
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
    /// `app drop, reason malformed-json`.
    fileprivate var filterWords: String {
        let words = filter.members.map { member in
            let value =
                member.value.string ?? String(decoding: JSONWriter.canonicalBytes(of: member.value), as: UTF8.self)
            return "\(member.key) \(value)"
        }
        return words.isEmpty ? "all open items" : words.joined(separator: ", ")
    }

    fileprivate var json: JSONText {
        .object([
            ("at", .text(at.description)), ("by", .text(self.operator)), ("login", .optional(login)),
            ("act", .text(act)),
            ("filter", .object(filter.members.map { ($0.key, JSONText($0.value)) })), ("items", .number(items)),
            ("because", .text(because)), ("replay", replay.map { .number(Int(clamping: $0)) } ?? .null),
        ])
    }
}
