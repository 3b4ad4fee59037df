import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    var book: ReplayAdmin { ReplayAdmin(pool: pool) }

    /// Performs `replay`: it fixes the list of items that match the filter now, and watches while a scheduler sends
    /// them.
    func replay() async throws -> ExitCode {
        let cutoff = try await cutoff()
        let limits = ReplayLimits(
            perItem: try words.number("cap", in: 1...1_000) ?? ReplayLimits.usualPerItem,
            failedSince: cutoff.earliest
        )
        let filter = words.has("dry-run") ? try await filter() : try await filterOfAct()
        var order = ReplayOrder(filter, limits: limits, pace: try words.pace(now))
        let survey = try await book.survey(order)
        order.filter.filedBy = filter.filedBy ?? survey.eligible.asOf
        if words.has("dry-run") { return try await foresee(order, survey, cutoff) }
        if let id = try await book.holder(of: order.filter) { throw try await overlap(id) }
        for line in leftOut(survey, cutoff) where !isJSON { print(line) }
        guard survey.eligible.items > 0 else {
            print(isJSON ? #"{"items":0}"# : "No open items match that may be replayed.")
            return .answerIsNo
        }
        let count = survey.eligible.items
        let deed = "replays \(count.of("item")) of \(survey.eligible.users.of("user"))"
        guard try confirm(count, asOf: order.filter.filedBy, deed) else { return .answerIsNo }
        switch try await book.start(order, agreed: count, by: try actingOperator()) {
        case .started(let id, let items):
            if !isJSON {
                print("Replay \(id) has started: \(items.of("item")). It continues if this terminal closes.")
            }
            if let begin = order.pace.notBefore, !isJSON { print("It sends from \(HumanText.instant(begin)) on.") }
            guard !words.has("detach"), order.pace.notBefore == nil else {
                if isJSON { print(JSONValue.members([("replay", .int(id))]).written) }
                return .done
            }
            return try await watch(id)
        case .overlaps(let id): throw try await overlap(id)
        case .moreThanAgreed(let items):
            throw moreThanAgreed(items, count, "nothing has begun")
        case .nothingToDo:
            throw failure(.tryAgain, "another operator changed them meanwhile", "look again")
        }
    }

    private func overlap(_ id: Int64) async throws -> CommandFailure {
        guard let other = try await book.progress(of: id) else {
            return failure(.tryAgain, "another replay held some of them", "look again")
        }
        let settled = "\(other.settled.grouped) of \(other.replay.items.grouped) are settled"
        return failure(
            .tryAgain,
            "replay \(id) of \(other.replay.operator), begun \(HumanText.ago(other.replay.startedAt, now)), "
                + "\(other.replay.state.rawValue), holds some of them (\(settled))",
            "wait for it, or bellhop dead-letters cancel \(id)"
        )
    }

    func leftOut(_ survey: ReplaySurvey, _ cutoff: ReplayCutoff) -> [String] {
        var lines: [String] = []
        if survey.tooOld > 0 { lines.append(tooOld(survey.tooOld, cutoff)) }
        if survey.tooOften > 0 {
            lines.append("\(survey.tooOften.of("item")) were replayed too often and stay; --cap N allows more.")
        }
        if survey.cut > 0 { lines.append(HumanText.cutBodies(survey.cut)) }
        return lines
    }
}

extension Words {
    /// Returns the pace from `--at`, `--rate`, `--ramp` and `--pause-at`.
    fileprivate func pace(_ now: Timestamp) throws(CommandFailure) -> ReplayOrder.Pace {
        var pace = ReplayOrder.Pace(isRamped: has("ramp"))
        pace.rate = try number("rate", in: 1...100_000, unit: "/s")
        if let share = try number("pause-at", in: 1...100) { pace.pauseShare = share }
        pace.notBefore = try time(ahead: "at", now)
        return pace
    }
}
