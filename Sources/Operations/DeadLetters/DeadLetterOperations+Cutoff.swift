import BellhopRules
import Pipeline
import ServiceRuntime
import Settings
package import Store

/// The limits of a replay, and the prediction of its outcome.
extension DeadLetterOperations {
    /// Returns the time before which an item must not have failed first, to be replayed or imported.
    package func cutoff() async throws -> ReplayCutoff {
        try await store.cutoff(context.configuration.replays)
    }

    /// Returns the line about items that failed too early, with the reason.
    package func tooOld(_ count: Int, _ cutoff: ReplayCutoff) -> String {
        "\(count.of("item")) failed first \(before(cutoff)) and stay: \(Self.reason(cutoff))."
    }

    func refuseTooOld(_ summary: DeadLetterSummary, _ input: DeadLetterInput) async throws {
        let cutoff = try await cutoff()
        guard summary.firstFailedAt < cutoff.earliest else { return }
        throw input.error(
            .notPossible,
            "it failed first \(before(cutoff)): \(Self.reason(cutoff))",
            advice: "ask the producer to send it again if it still matters, and discard it",
            about: summary.deadID
        )
    }

    private func before(_ cutoff: ReplayCutoff) -> String {
        cutoff.isByRetention
            ? "before \(HumanText.instant(cutoff.earliest))"
            : "more than \(context.configuration.replayHorizon.shortText) ago"
    }

    private static func reason(_ cutoff: ReplayCutoff) -> String {
        cutoff.isByRetention
            ? "the records that prevent duplicates are deleted up to then (its \(Setting.retention.environmentName))"
            : "their notifications may have been deleted, so they could be sent twice (\(Setting.replayHorizon.environmentName))"
    }

    /// Makes a dry run with the present rules and tables.
    ///
    /// The rules are in the catalogues, so that it is impossible without them. The error names the consequence and an
    /// alternative.
    func dryRun(
        _ input: DeadLetterInput,
        orElse consequence: String = "the change cannot be checked",
        _ alternative: String = ""
    ) throws -> ReplayDryRun {
        do {
            return ReplayDryRun(
                catalogs: try context.catalogs(),
                zones: context.zones,
                names: context.names,
                pool: context.pool
            )
        } catch let failure as CatalogFailure {
            throw input.error(
                .misconfigured,
                "\(consequence): \(failure.summary)",
                advice: "bellhop check-config lists every fault\(alternative)"
            )
        }
    }
}
