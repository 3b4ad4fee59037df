import BellhopRules
import Testing

@testable import Store

@Suite("Provider outages of all processes")
struct ProviderOutageTests {
    private static func moment(_ seconds: Int64) -> Timestamp {
        Timestamp(clamping: 1_767_225_600_000_000 + seconds * 1_000_000)
    }

    private static func outage(since: Int64, latest: Int64, answers: Int = 5) -> ProviderOutage {
        ProviderOutage(
            app: "drop",
            provider: "fcm",
            word: "UNAVAILABLE",
            since: moment(since),
            latest: moment(latest),
            answers: answers
        )
    }

    private static func process(_ role: String, _ fill: (inout Heartbeat) -> Void) -> LiveProcess {
        let identity = Heartbeat.Identity(id: role, role: role, version: "0.1.0", host: "h", process: 7)
        var report = Heartbeat(identity, catalogs: "same")
        fill(&report)
        return LiveProcess(report: report, startedAt: moment(0), seenAt: moment(100), drainingSince: nil)
    }

    /// Combines the reports of a restarted worker and of a scheduler that saw an outage from second 0 to 60.
    private static func combined(
        workerSince since: Int64,
        success: Int64? = nil,
        at now: Int64
    ) -> ProviderOutage? {
        let worker = process("worker") { report in
            report.troubles = [outage(since: since, latest: now)]
            var activity = OutletActivity(app: "drop", provider: "fcm")
            activity.acceptedAt = success.map(moment)
            report.activities = [activity]
        }
        let scheduler = process("scheduler") { $0.remembered = [outage(since: 0, latest: 60, answers: 40)] }
        return ProviderOutage.combined(of: [worker, scheduler], at: moment(now)).first
    }

    @Test("an outage that a scheduler remembers continues with the first failure of a restarted worker")
    func restart() {
        let whole = Self.combined(workerSince: 90, at: 95)
        #expect(whole?.since == Self.moment(0) && whole?.latest == Self.moment(95) && whole?.answers == 40)
    }

    @Test("a success since the remembered outage separates the two")
    func success() {
        let separate = Self.combined(workerSince: 90, success: 70, at: 105)
        #expect(separate?.since == Self.moment(90) && separate?.answers == 5)
        let within = Self.combined(workerSince: 90, success: 30, at: 105)
        #expect(within?.since == Self.moment(30))
    }

    @Test("after ten minutes without any answer, another outage begins")
    func gap() {
        let near = Self.combined(workerSince: 659, at: 700)
        let far = Self.combined(workerSince: 660, at: 700)
        #expect(near?.since == Self.moment(0))
        #expect(far?.since == Self.moment(660))
    }

    @Test("a remembered outage alone is none, since no worker reports a failure")
    func alone() {
        let scheduler = Self.process("scheduler") { $0.remembered = [Self.outage(since: 0, latest: 60)] }
        #expect(ProviderOutage.combined(of: [scheduler], at: Self.moment(61)).isEmpty)
    }
}
