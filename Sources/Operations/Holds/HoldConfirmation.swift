package import BellhopJSON
import BellhopRules
import ServiceRuntime
import Store

/// The workers that observe a new hold, and the workers that have not confirmed it.
package struct HoldConfirmation: Sendable, Equatable {
    /// The number of workers that observe the hold.
    package let confirmed: Int
    /// Host and process id of each worker that may still begin sends.
    package let unconfirmed: [String]

    /// The state of all workers, as one or two sentences.
    package var words: String {
        guard unconfirmed.isEmpty else {
            let workers = (confirmed + unconfirmed.count).of("worker")
            return "\(confirmed) of \(workers) observed it within \(Self.patience.components.seconds) s. "
                + "\(unconfirmed.joined(separator: ", ")) did not confirm, and may still send: run bellhop status."
        }
        switch confirmed {
        case 0: return "No worker runs; one that starts observes it from the first send."
        case 1: return "The only worker observes it; no further send begins. \(Self.inProgress)"
        default: return "All \(confirmed) workers observe it; no further send begins. \(Self.inProgress)"
        }
    }

    /// A worker has twice the window in flight, over all lanes.
    private static let inProgress =
        "Requests in flight still go out: per worker and provider, at most twice the provider's window."

    package var json: JSONValue {
        .members([
            ("confirmed", .int(confirmed)), ("unconfirmed", .array(unconfirmed.map(JSONValue.string))),
        ])
    }

    /// The time limit for all workers together.
    ///
    /// A worker reads the holds every second and reports a new one within another second.
    static let patience = Duration.seconds(5)
    /// The interval between two queries.
    static let interval = Duration.milliseconds(200)
}

extension HoldOperations {
    /// Waits until every running worker has reported that it observes a hold, for a few seconds at most.
    ///
    /// A worker that hangs, or that is of a release without this report, does not confirm. A worker that its
    /// supervisor has replaced has ended, whatever its last report is, and does not count.
    func confirmation(of hold: OperatorHold) async throws -> HoldConfirmation {
        let limit = ContinuousClock.now + HoldConfirmation.patience
        while true {
            let workers = try await Self.running(heartbeats.all())
            let others = workers.filter { $0.holds?.contains(hold.number) != true }
            guard !others.isEmpty, ContinuousClock.now < limit else {
                return HoldConfirmation(
                    confirmed: workers.count - others.count,
                    unconfirmed: others.map { "\($0.identity.host)[\($0.identity.process)]" }.sorted()
                )
            }
            try await Task.sleep(for: HoldConfirmation.interval)
        }
    }

    /// Returns the reports of the workers that no other worker has replaced.
    private static func running(_ processes: [LiveProcess]) -> [Heartbeat] {
        let workers = processes.filter { $0.report.identity.role == "worker" }
        let successors = workers.compactMap { seen -> ([String], Timestamp)? in
            let own = seen.report.identity
            return own.predecessor.map { ([own.host, String($0.process)], seen.startedAt) }
        }
        let replacedAt = Dictionary(successors, uniquingKeysWith: max)
        return workers.filter { seen in
            let own = seen.report.identity
            return replacedAt[[own.host, String(own.process)]].map { $0 <= seen.startedAt } ?? true
        }
        .map(\.report)
    }
}
