import BellhopRules
import Pipeline
import Push
import ServiceRuntime
import Store

extension DeskSession {
    var book: ReplayBook { ReplayBook(pool: pool) }

    /// `replay`: freezes what the filter means now, and watches while a scheduler sends it.
    func replay() async throws -> ExitCode {
        let cutoff = try await cutoff()
        let limits = ReplayLimits(
            perItem: try words.number("cap", in: 1...1_000) ?? ReplayLimits.usualPerItem,
            failedSince: cutoff.earliest
        )
        let filter = words.has("dry-run") ? try await filter() : try await filterOfAct()
        var order = ReplayOrder(filter, limits: limits, pace: try words.pace(now))
        let survey = try await book.survey(order)
        order.filter.filedBy = survey.eligible.asOf
        if words.has("dry-run") { return try await foresee(order, survey, cutoff) }
        if let id = try await book.holder(of: order.filter) { throw try await overlap(id) }
        for line in leftOut(survey, cutoff) where !isJSON { print(line) }
        guard survey.eligible.items > 0 else {
            print(isJSON ? #"{"items":0}"# : "No open items match that may be replayed.")
            return .answerIsNo
        }
        let count = survey.eligible.items
        let deed = "replays \(count.of("item")) of \(survey.eligible.users.of("user"))"
        guard try confirm(count, deed) else { return .answerIsNo }
        switch try await book.start(order, agreed: count, by: try deskOperator()) {
        case .started(let id, let items):
            if !isJSON {
                print("Replay \(id) has begun: \(items.of("item")). It goes on whatever becomes of this terminal.")
            }
            if let begin = order.pace.notBefore, !isJSON { print("It sends from \(DeskText.instant(begin)) on.") }
            guard !words.has("detach"), order.pace.notBefore == nil else {
                if isJSON { print(JSONText.object([("replay", .number(Int(clamping: id)))]).description) }
                return .done
            }
            return try await watch(id)
        case .overlaps(let id): throw try await overlap(id)
        case .moreThanAgreed(let items):
            throw moreThanAgreed(items, count, "nothing has begun")
        case .nothingToDo:
            throw failure(.tryAgain, "somebody else took them at this moment", "look again")
        }
    }

    private func overlap(_ id: Int64) async throws -> CommandFailure {
        guard let other = try await book.progress(of: id) else {
            return failure(.tryAgain, "another replay held some of them", "look again")
        }
        let settled = "\(other.settled.grouped) of \(other.replay.items.grouped) are settled"
        return failure(
            .tryAgain,
            "replay \(id) of \(other.replay.operator), begun \(DeskText.ago(other.replay.startedAt, now)), "
                + "\(other.replay.state.rawValue), holds some of them (\(settled))",
            "wait for it, or bellhop dead-letters cancel \(id)"
        )
    }

    private func leftOut(_ survey: ReplaySurvey, _ cutoff: ReplayCutoff) -> [String] {
        var lines: [String] = []
        if survey.tooOld > 0 { lines.append(tooOld(survey.tooOld, cutoff)) }
        if survey.tooOften > 0 {
            lines.append("\(survey.tooOften.of("item")) were replayed too often and stay; --cap N allows more.")
        }
        if survey.cut > 0 { lines.append(DeskText.cutBodies(survey.cut)) }
        return lines
    }

    /// What would become of each item, counted; nothing is changed.
    private func foresee(
        _ order: ReplayOrder,
        _ survey: ReplaySurvey,
        _ cutoff: ReplayCutoff
    ) async throws -> ExitCode {
        let forecast = try forecast()
        var tally: [Foreseen: Int] = [:]
        var items: [JSONText] = []
        let providers = setup.configuration.providers.flatMap { try? ProviderConfiguration.read(file: $0) }
        var budgets = ReplayBudgets(providers)
        var last = ""
        while true {
            let page = try await desk.messages(order.eligible, after: last, atMost: 200)
            guard let end = page.last else { break }
            last = end.summary.deadID
            for (item, prediction) in zip(page, try await forecast.predict(page, at: now)) {
                tally[Foreseen(prediction), default: 0] += 1
                if prediction.kind == .wouldSend { budgets.add(item.summary.cause) }
                guard isJSON else { continue }
                items.append(
                    .object([
                        ("id", .text(item.summary.deadID)), ("prediction", .text(prediction.kind.rawValue)),
                        ("detail", .optional(prediction.detail)),
                    ])
                )
            }
        }
        let counts = tally.sorted { ($1.value, $0.key.words) < ($0.value, $1.key.words) }
        let ahead = try await waiting(before: order.filter)
        answer(
            .object([
                ("count", .number(survey.eligible.items)), ("tooOld", .number(survey.tooOld)),
                ("tooOften", .number(survey.tooOften)), ("bodyCut", .number(survey.cut)),
                ("predictions", .list(counts.map { $0.key.json($0.value) })), ("items", .list(items)),
                ("budgets", budgets.json),
                (
                    "ahead",
                    .list(
                        ahead.map { .object([("outlet", .text($0.name)), ("waiting", .number($0.count))]) }
                    )
                ),
            ]),
            lines: leftOut(survey, cutoff) + [
                "A replay of \(survey.eligible.items.of("item")) at this moment; nothing was changed:"
            ]
                + TextTable(["prediction", "items"], rows: counts.map { ["  \($0.key.words)", $0.value.grouped] })
                .lines()
                .dropFirst()
                + budgets.lines
                + ahead.map {
                    "\($0.count.grouped) wait in the backlog of \($0.name): what is sent there goes behind them."
                }
        )
        return survey.eligible.items == 0 ? .answerIsNo : .done
    }

    /// What waits already for the outlets that a replay may go through, as far as its filter tells.
    private func waiting(before filter: DeadLetterFilter) async throws -> [StoreStatus.Backlog] {
        try await StoreStatus.backlogs(pool).filter { backlog in
            guard let part = OutletPart(backlog.name) else { return false }
            return part.app.text == filter.app ?? part.app.text && part.provider == filter.provider ?? part.provider
        }
    }

    /// Foresees with the rules and the tables as they are.
    func forecast() throws -> ReplayForecast {
        ReplayForecast(
            catalogs: try setup.catalogs(),
            zones: ZoneLibrary(environment: request.shell.environment),
            names: setup.names,
            pool: pool
        )
    }
}

/// What is counted together of a dry run.
private struct Foreseen: Hashable {
    let kind: String
    let detail: String?

    init(_ prediction: ReplayPrediction) {
        kind = prediction.kind.rawValue
        // The instants until which things would wait differ from user to user.
        let isInstant = prediction.kind == .quietUntil
        detail = isInstant ? prediction.detail?.split(separator: " ").first.map(String.init) : prediction.detail
    }

    var words: String { [kind, detail].compactMap { $0 }.joined(separator: ", ") }

    func json(_ count: Int) -> JSONText {
        .object([("prediction", .text(kind)), ("detail", .optional(detail)), ("count", .number(count))])
    }
}

extension Words {
    /// `--rate`, `--ramp` and `--pause-at`.
    fileprivate func pace(_ now: Timestamp) throws(CommandFailure) -> ReplayOrder.Pace {
        var pace = ReplayOrder.Pace(isRamped: has("ramp"))
        pace.rate = try number("rate", in: 1...100_000, unit: "/s")
        if let share = try number("pause-at", in: 1...100) { pace.pauseShare = share }
        pace.notBefore = try time(ahead: "at", now)
        return pace
    }
}
