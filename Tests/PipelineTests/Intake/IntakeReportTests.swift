import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Intake reports")
struct IntakeReportTests {
    private func batch(_ lane: String, _ messages: Int, refused: Int = 0, took: Duration) -> IntakeSummary {
        IntakeSummary(
            messages,
            from: lane,
            figures: [.notifications: messages - refused, .refused: refused],
            longest: took
        )
    }

    @Test("many batches are one log line, by lane and by outcome, and no batches are none")
    func oneLine() throws {
        let log = CapturedLog()
        let report = IntakeReport(logger: Logger(label: "worker", sink: log))
        report.tell()
        for _ in 0..<1_000 { report.add(batch("normal", 3, took: .milliseconds(2))) }
        report.add(batch("urgent", 2, refused: 1, took: .milliseconds(9)))
        report.tell()
        report.tell()
        let record = try #require(log.records.first)
        #expect(log.records.count == 1)
        #expect(record.level == .info)
        #expect(record.fields["batches"] == .integer(1_001))
        #expect(record.fields["normal"] == .integer(3_000))
        #expect(record.fields["urgent"] == .integer(2))
        #expect(record.fields["notifications"] == .integer(3_001))
        #expect(record.fields["refused"] == .integer(1))
        #expect(record.fields["longest"] == .span(.milliseconds(9)))
    }

    @Test("a worker whose pushes are all rejected reports none as accepted")
    func accepted() {
        let log = CapturedLog()
        let accepted = Mutex(0)
        let report = IntakeReport(logger: Logger(label: "worker", sink: log)) { accepted.withLock { $0 } }
        let pushes = IntakeSummary(2, from: "normal", figures: [.pushes: 44], longest: .milliseconds(1))
        report.add(pushes)
        report.tell()
        accepted.withLock { $0 = 40 }
        report.add(pushes)
        report.tell()
        report.add(batch("normal", 1, took: .milliseconds(1)))
        report.tell()
        #expect(log.records.map { $0.fields["accepted"] } == [.integer(0), .integer(40), nil])
    }

    @Test("dead letters of many batches are in the same line by reason, and alone only without an intake")
    func dead() {
        let (log, tally) = (CapturedLog(), DeadLetterTally())
        let report = IntakeReport(logger: Logger(label: "worker", sink: log), deadLettered: tally)
        for _ in 0..<1_000 {
            report.add(batch("normal", 3, refused: 2, took: .milliseconds(1)))
            tally.add(["malformed-json", "missing-id"])
        }
        report.tell()
        tally.add(["attempts-exhausted"])
        report.tell()
        report.tell()
        #expect(log.messages == ["took in", "dead-lettered"])
        #expect(log.records.first?.fields["dead"] == .integer(2_000))
        #expect(log.records.first?.fields["reasons"] == .text("malformed-json:1000,missing-id:1000"))
        #expect(log.records.last?.fields["reasons"] == .text("attempts-exhausted:1"))
    }

    @Test("the intake until a drain is reported at its end, whatever the interval, and once", .timeLimit(.ofTest))
    func drain() async throws {
        let log = CapturedLog()
        let report = IntakeReport(logger: Logger(label: "worker", sink: log), interval: .seconds(3_600))
        report.add(batch("bulk", 1, took: .milliseconds(1)))
        let drain = DrainSignal()
        drain.fire()
        try await report.run(until: drain)
        report.tell()
        #expect(log.messages == ["took in"])
    }
}
