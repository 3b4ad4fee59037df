package import BellhopRules
import ServiceRuntime

/// Sends one app's messages through Expo's push service, a hundred per request.
///
/// A message that Expo accepts has the verdict `accepted` with its ticket; its result is requested later
/// (`ExpoReceipts`). A request that is rejected as a whole is divided until only the faulty messages are rejected. Expo
/// has sent none of its messages before that.
package struct ExpoSender: PushSender {
    package var provider: PushProvider { .expo }

    let service: ExpoService
    var time: any TimeSource = SystemTime()
    let logger: Logger
    var metrics: PushMetrics.SenderMetrics?
    package var window = Int.max
    package var budget: PushBudget?

    package func send(_ batch: [PushMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [PushMessage]) async -> [Verdict] {
        let start = ContinuousClock.now
        var progress = ExpoBatchProgress(batch, now: Timestamp(clamping: time.now().microseconds))
        while !progress.requests.isEmpty {
            // The limit keeps the work within a claim's lease, however often a request must be divided.
            guard .now - start < Self.patience else {
                progress.giveUpWaiting()
                break
            }
            let requests = progress.requests.map { service.request("send", ExpoBatchProgress.body($0)) }
            progress.take(await service.send(requests))
        }
        if progress.projects > 1 {
            logger.warning(
                "devices belong to several Expo projects, sending separately",
                [
                    "projects": .integer(progress.projects),
                    "whatToDo": .text("see which app build registers tokens of another project"),
                ]
            )
        }
        return progress.verdicts
    }

    private static let patience = Duration.seconds(20)
}
