import BellhopJSON
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    /// Performs `replay`: it fixes the list of items that match the filter now, and watches while a scheduler sends
    /// them.
    func replay() async throws -> ExitCode {
        if words.has("dry-run") {
            let found = try await replays.dryRun(input)
            answer(found.json, lines: found.lines)
            return found.survey.eligible.items == 0 ? .answerIsNo : .done
        }
        let preview = try await replays.preview(input, asOf: nil)
        try await replays.expectFree(preview, input)
        explain(preview.leftOut)
        guard preview.count > 0 else {
            answer(ReplayPreview.nothingJSON, lines: [ReplayPreview.nothing])
            return .answerIsNo
        }
        let asks = request.shell.terminal != nil && !words.has("yes")
        if asks, preview.count <= Self.mostForecast { explain(await forecast()) }
        guard try confirm(preview.question) else { return .answerIsNo }
        let started = try await replays.start(preview, input, by: try actingOperator())
        let items = started.items.of("item")
        if let begin = started.notBefore {
            let start = "\(HumanText.instant(begin)) (\(HumanText.ahead(begin, input.now)))"
            explain([
                "Replay \(started.id) is scheduled: \(items), sent from \(start) on, also if this terminal closes."
            ])
        } else {
            explain(["Replay \(started.id) has started: \(items). It continues if this terminal closes."])
        }
        guard !words.has("detach"), started.notBefore == nil else {
            if isJSON { print(started.json.written) }
            return .done
        }
        return try await watch(started.id)
    }

    /// The predictions before the question, or the reason why there are none: they must not prevent a replay.
    private func forecast() async -> [String] {
        do {
            return try await replays.dryRun(input).forecast
        } catch let error as OperationError {
            return ["Warning: \(error.text)."]
        } catch { return [] }
    }

    /// The number of items up to which the outcomes are predicted before the question; a dry run predicts any number.
    private static let mostForecast = 1_000
}

extension ReplayDryRunAnswer {
    /// The predictions in lines, before the question.
    fileprivate var forecast: [String] {
        warning + table(under: "Predicted outcomes:")
    }

    private var warning: [String] { difference.map { ["Warning: \($0)."] } ?? [] }

    private func table(under heading: String) -> [String] {
        let rows = predictions.rows.map { ["  \($0.words)", $0.items.grouped] }
        return [heading] + TextTable(["prediction", "items"], rows: rows).lines().dropFirst()
    }

    /// The answer of a dry run in lines.
    fileprivate var lines: [String] {
        leftOut + warning
            + table(under: "A replay of \(survey.eligible.items.of("item")) at this moment; nothing was changed:")
            + budgets.lines
            + ahead.map {
                "\($0.count.grouped) wait in the backlog of \($0.name): what is sent there goes behind them."
            }
    }
}
