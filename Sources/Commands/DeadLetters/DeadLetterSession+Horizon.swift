import BellhopRules
import CLI
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    /// Returns the time before which an item must not have failed first, to be replayed or imported.
    func cutoff() async throws -> ReplayCutoff {
        try await desk.cutoff(request.configuration.replays)
    }

    /// Returns the line about items that failed too early, with the reason.
    func tooOld(_ count: Int, _ cutoff: ReplayCutoff) -> String {
        "\(count.of("item")) failed first \(before(cutoff)) and stay: \(Self.reason(cutoff))."
    }

    func refuseTooOld(_ summary: DeadLetterSummary) async throws {
        let cutoff = try await cutoff()
        guard summary.firstFailedAt < cutoff.earliest else { return }
        throw failure(
            .answerIsNo,
            "it failed first \(before(cutoff)): \(Self.reason(cutoff))",
            "ask the producer to send it again if it still matters, and discard it",
            summary.deadID
        )
    }

    private func before(_ cutoff: ReplayCutoff) -> String {
        cutoff.isByRetention
            ? "before \(HumanText.instant(cutoff.earliest))"
            : "more than \(request.configuration.replayHorizon.shortText) ago"
    }

    private static func reason(_ cutoff: ReplayCutoff) -> String {
        cutoff.isByRetention
            ? "the records that prevent duplicates are deleted up to then (its \(Setting.retention.environmentName))"
            : "their notifications may have been deleted, so they could be sent twice (\(Setting.replayHorizon.environmentName))"
    }
}
