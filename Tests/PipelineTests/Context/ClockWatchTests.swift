import ServiceRuntime
import Store
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Clock comparison", .timeLimit(.ofTest))
struct ClockWatchTests {
    /// A host whose steady clock is stopped, so that its date changes by steps only.
    private final class SteppingHost: TimeSource {
        private let date = ManualTime(Instant(seconds: 1_800_000_000))
        private let start = ContinuousClock.now

        func now() -> Instant { date.now() }

        func steady() -> ContinuousClock.Instant { start }

        func advance(by span: Duration) { date.advance(by: span) }
    }

    /// A host's clock, a database's clock, and a watch over both.
    private struct Fixture {
        let host = SteppingHost()
        let database = ManualTime(Instant(seconds: 1_800_000_000))
        let log = CapturedLog()
        let metrics = MetricsRegistry()
        let watch: ClockWatch

        init(roundTrip: Duration = .zero) {
            let (host, database) = (host, database)
            watch = ClockWatch(time: host, logger: Logger(label: "test", sink: log), metrics: metrics) {
                DatabaseClock.Comparison(
                    offset: host.now() - database.now(),
                    uncertainty: roundTrip / 2,
                    wall: host.now(),
                    steady: host.steady()
                )
            }
        }
    }

    @Test("clocks that differ by half a minute agree, and by a second more they do not, in either direction")
    func tolerance() async {
        for (ahead, agree) in [(Int64(29), true), (-29, true), (32, false), (-32, false), (63_072_000, false)] {
            let fixture = Fixture()
            fixture.host.advance(by: .seconds(ahead))
            let found = await fixture.watch.agree()
            #expect(found == agree, "\(ahead) s")
            #expect((fixture.watch.whatIsWrong == nil) == agree)
        }
    }

    @Test("half of the round trip is added to the tolerance")
    func roundTrip() async {
        let fixture = Fixture(roundTrip: .seconds(20))
        fixture.host.advance(by: .seconds(39))
        let near = await fixture.watch.agree()
        #expect(near)
        fixture.host.advance(by: .seconds(3))
        let far = await fixture.watch.agree()
        #expect(!far)
    }

    @Test("the verdict is unknown, and the watch reports a problem, until the database has answered")
    func unknown() {
        let fixture = Fixture()
        #expect(fixture.watch.verdict == .unknown)
        #expect(fixture.watch.whatIsWrong == "the database's clock is not known yet")
        #expect(!fixture.metrics.text().contains("bellhop_clock_offset_seconds "))
    }

    @Test("a step of the host's clock is detected without a query to the database, and so is its end")
    func step() async {
        let fixture = Fixture()
        let before = await fixture.watch.agree()
        #expect(before)
        fixture.host.advance(by: .seconds(86_400))
        guard case .differ(let offset) = fixture.watch.verdict else {
            Issue.record("the step is not noticed")
            return
        }
        #expect(offset > .seconds(86_390))
        #expect(fixture.watch.whatIsWrong == "this host's clock is \(offset.roughly) ahead of the database's")
        fixture.host.advance(by: .seconds(-86_400))
        #expect(fixture.watch.verdict == .agree)
    }

    @Test("the log reports the beginning and the end once, and the metric shows the offset")
    func reported() async {
        let fixture = Fixture()
        await fixture.watch.compare()
        fixture.database.advance(by: .seconds(63_072_000))
        await fixture.watch.compare()
        await fixture.watch.compare()
        #expect(fixture.watch.whatIsWrong?.hasSuffix(" d behind the database's") == true)
        #expect(fixture.metrics.text().contains("bellhop_clock_offset_seconds -6307"))
        fixture.database.advance(by: .seconds(-63_072_000))
        await fixture.watch.compare()
        await fixture.watch.compare()
        let messages = fixture.log.messages
        #expect(
            messages == [
                "the clocks of this host and of the database differ, taking and planning nothing",
                "the clocks of this host and of the database agree again",
            ]
        )
    }

    @Test("a worker whose clock has stepped ends after its wait, and one whose clocks never agreed continues to wait")
    func ends() async throws {
        let fixture = Fixture()
        let drain = DrainSignal()
        let duty = ClockDuty(fixture.watch, endingAfter: .zero)
        let running = Task { try await duty.run(until: drain) }
        try await eventually("the clocks have been compared") { fixture.watch.verdict == .agree }
        fixture.host.advance(by: .seconds(3_600))
        await #expect(throws: ClockDuty.Disagreement.self) { try await running.value }
        let other = Fixture()
        other.host.advance(by: .seconds(3_600))
        let waiting = Task { try await ClockDuty(other.watch, endingAfter: .zero).run(until: drain) }
        try await eventually("the clocks have been compared") { other.watch.verdict != .unknown }
        drain.fire()
        try await waiting.value
    }
}
