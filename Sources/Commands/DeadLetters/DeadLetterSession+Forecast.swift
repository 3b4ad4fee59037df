import BellhopRules
import CLI
import Pipeline
import Push
import ServiceRuntime
import Settings
import Store

/// The dry run of `replay`.
extension DeadLetterSession {
    /// Counts the predicted outcomes of all items and changes nothing.
    ///
    /// Only one page of items is in memory at a time, and only the first items are listed.
    func foresee(
        _ order: ReplayOrder,
        _ survey: ReplaySurvey,
        _ cutoff: ReplayCutoff
    ) async throws -> ExitCode {
        let forecast = try forecast()
        let providers = setup.configuration.providers.flatMap { try? ProviderConfiguration.read(file: $0) }
        var (tally, budgets, last) = (DryRunSummary(), ReplayBudgets(providers), "")
        while true {
            let page = try await desk.messages(order.eligible, after: last, atMost: 200)
            guard let end = page.last else { break }
            last = end.summary.deadID
            for (item, prediction) in zip(page, try await forecast.predict(page, at: now)) {
                tally.add(prediction, of: item.summary.deadID)
                if prediction.kind == .wouldSend { budgets.add(item.summary.cause) }
            }
        }
        let ahead = try await waiting(before: order.filter)
        answer(
            .members([
                ("count", .int(survey.eligible.items)), ("tooOld", .int(survey.tooOld)),
                ("tooOften", .int(survey.tooOften)), ("bodyCut", .int(survey.cut)),
                ("predictions", tally.json), ("items", .array(tally.named)), ("itemsNotNamed", .int(tally.unnamed)),
                ("budgets", budgets.json), ("ahead", .array(ahead.map(Self.json))),
            ]),
            lines: leftOut(survey, cutoff) + [
                "A replay of \(survey.eligible.items.of("item")) at this moment; nothing was changed:"
            ]
                + tally.lines + budgets.lines
                + ahead.map {
                    "\($0.count.grouped) wait in the backlog of \($0.name): what is sent there goes behind them."
                }
        )
        return survey.eligible.items == 0 ? .answerIsNo : .done
    }

    private static func json(_ backlog: WaitingBacklog) -> JSONValue {
        .members([("outlet", .string(backlog.name)), ("waiting", .int(backlog.count))])
    }

    /// Returns the backlogs of the outlets that a replay may use, as narrowed by its filter.
    private func waiting(before filter: DeadLetterFilter) async throws -> [WaitingBacklog] {
        try await WaitingBacklog.all(on: pool).filter { backlog in
            guard let part = OutletScope(backlog.name) else { return false }
            return part.app.text == filter.app ?? part.app.text && part.provider == filter.provider ?? part.provider
        }
    }

    /// Makes a forecast with the present rules and tables.
    func forecast() throws -> ReplayDryRun {
        ReplayDryRun(
            catalogs: try setup.catalogs(),
            zones: ZoneLibrary(environment: request.shell.environment),
            names: setup.names,
            pool: pool
        )
    }
}
