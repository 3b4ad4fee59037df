import BellhopRules
import Pipeline
import ServiceRuntime
import Store

/// Processes without heartbeats, and processes that have replaced one.
extension Status {
    /// Processes that have stopped their heartbeats without an orderly end, and that no supervisor has replaced yet.
    private var silent: [LiveProcess] { database.value?.store?.silentProcesses ?? [] }

    /// The cause that the silence of these processes has in common; `nil` if there is none.
    var commonSilence: CommonSilence? { silent.isEmpty ? nil : database.value?.store?.commonSilence }

    /// Processes that are apparently unable to send heartbeats, and whose work no other process takes.
    var irreplaceableSilentProcesses: [String] { describe(silent.filter { !isReplaceable($0.report) }) }

    /// Processes that are apparently unable to send heartbeats, while others take their work.
    var otherSilentProcesses: [String] { describe(silent.filter { isReplaceable($0.report) }) }

    private func isReplaceable(_ silent: Heartbeat) -> Bool {
        let others = running(silent.identity.role)
        return silent.identity.role == "worker" ? lanesAlone(silent, others).isEmpty : !others.isEmpty
    }

    /// Whether the absence of every process of a role is reported as a process without heartbeats.
    func isReportedAsSilent(_ role: String) -> Bool {
        commonSilence == nil && running(role).isEmpty && silent.contains { $0.report.identity.role == role }
    }

    private func describe(_ silent: [LiveProcess]) -> [String] {
        guard commonSilence == nil else { return [] }
        return silent.prefix(Self.hindrances).map { seen in
            let own = seen.report.identity
            let silence = max(.zero, time - Instant(microseconds: seen.seenAt.microseconds)).roughly
            return "\(own.role) \(own.host)[\(own.process)] has sent no heartbeat for \(silence): it hangs, its host "
                + "does, or it was killed. \(consequence(of: seen.report))"
        }
    }

    /// Returns the reports of the running processes with a role.
    func running(_ role: String) -> [Heartbeat] {
        processes.map(\.report).filter { $0.identity.role == role && !$0.isDraining }
    }

    /// Returns the lanes that a hung worker serves and no other does.
    private func lanesAlone(_ silent: Heartbeat, _ others: [Heartbeat]) -> [Lane] {
        let served = Set(others.flatMap(\.servedLanes))
        return Lane.allCases.filter { silent.servedLanes.contains($0) && !served.contains($0) }
    }

    /// Returns the effect of a hung process on its work, and the act that ends it.
    private func consequence(of silent: Heartbeat) -> String {
        let others = running(silent.identity.role)
        let ending = "bellhop pool and up replace it; without them, end it if it still runs"
        guard silent.identity.role == "worker" else {
            return others.isEmpty
                ? "No other \(silent.identity.role) runs: due deliveries, reminders and dead letters wait; "
                    + "\(ending), and start another"
                : "Another \(silent.identity.role) takes its work when it has ended; \(ending)"
        }
        let taken = "Events that it took wait until it ends, and are not counted as ready"
        let alone = lanesAlone(silent, others)
        guard !alone.isEmpty else { return "\(taken); \(ending), and other workers take its work" }
        let lanes = alone.map(\.rawValue).joined(separator: " and ")
        let lack =
            others.isEmpty
            ? "no other worker runs" : "no other worker serves the \(lanes) lane\(alone.count > 1 ? "s" : "")"
        return "\(taken), and \(lack); \(ending), and start another"
    }

    /// The report of a common silence, which does not blame any process.
    var silenceProblems: [String] {
        guard silenceOfConsumers == nil else { return [] }
        return switch commonSilence {
        case .lasting(let silence):
            [
                "no process has written a heartbeat for \(silence.roughly), as after an outage of the database: look "
                    + "again in ten seconds; if it stays, the processes hang or were killed, see docs/runbooks/role-down.md"
            ]
        case .over(let since):
            [
                "\(silent.count.of("process", "processes")) \(silent.count == 1 ? "has" : "have") written no heartbeat "
                    + "since a pause of all heartbeats, as after an outage of the database, which ended \(since.roughly) "
                    + "ago: look again in ten seconds"
            ]
        case nil: []
        }
    }

    /// Processes that have lately replaced one that hung.
    var replacements: [String] {
        processes.compactMap { seen in
            guard let replacedAt = seen.report.identity.predecessor?.hungUntil else { return nil }
            let since = max(.zero, time - Instant(microseconds: replacedAt.microseconds))
            guard since < Self.recently else { return nil }
            let own = seen.report.identity
            return "\(own.role) \(own.host)[\(own.process)] replaced one that hung, \(since.roughly) ago: nothing is "
                + "lost; if it repeats, see docs/runbooks/role-down.md"
        }
    }

    /// The time for which a replaced process is reported.
    private static let recently = Duration.seconds(3_600)
}

extension Heartbeat {
    /// The lanes of a worker.
    ///
    /// Older workers do not report their lanes, and usually serve all of them.
    var servedLanes: [Lane] { lanes ?? Lane.allCases }
}
