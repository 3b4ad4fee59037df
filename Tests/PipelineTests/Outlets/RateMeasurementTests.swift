import BellhopRules
import ServiceRuntime
import Store
import Synchronization
import Testing

@testable import Pipeline

/// A steady clock that only a test moves.
private final class SteadyTime: TimeSource {
    private let instant = Mutex(ContinuousClock.now)

    func now() -> Instant { .epoch }

    func steady() -> ContinuousClock.Instant { instant.withLock { $0 } }

    func advance(by span: Duration) { instant.withLock { $0 += span } }
}

@Suite("The rate of a backlog")
struct RateMeasurementTests {
    private let begin = ContinuousClock.now

    private func after(_ seconds: Int64) -> ContinuousClock.Instant { begin + .seconds(seconds) }

    @Test("it is unknown until a whole interval between two reports, and then that of the last interval")
    func whole() {
        var rate = RateMeasurement(from: begin)
        rate.add(1_000)
        rate.report(at: after(2))
        #expect(rate.rate == nil && !rate.isIdle, "two seconds are too short")
        rate.add(1_500)
        rate.report(at: after(5))
        #expect(rate.rate == nil, "an early report does not end an interval")
        rate.add(3_500)
        rate.report(at: after(12))
        #expect(rate.rate == 500)
        rate.add(10)
        rate.report(at: after(13))
        #expect(rate.rate == 500, "an early report repeats the last rate")
        rate.add(10)
        rate.report(at: after(22))
        #expect(rate.rate == 2)
        rate.report(at: after(32))
        #expect(rate.isIdle)
    }

    @Test("the next backlog and the time after an obstacle are measured again")
    func again() throws {
        let app = try #require(AppID(validating: "drop"))
        let time = SteadyTime()
        let backlogs = Backlogs(of: OutletKey(app: app, provider: .fcm), signal: BacklogSignal(), time: time)
        let key = BacklogKey(OutletKey(app: app, provider: .fcm))
        let place = BacklogPlace(key, .normal)
        func pull(_ count: Int) {
            let poll = backlogs.poll(place)
            backlogs.polled(Timestamp(clamping: 1), by: poll, now: Timestamp(clamping: 2))
            backlogs.pulled((0..<count).map { Timestamp(clamping: Int64($0)) }, by: poll)
        }
        func rates() -> [Int?] { backlogs.takeRates().map(\.rate) }
        #expect(rates().isEmpty)
        pull(100)
        #expect(rates() == [nil])
        pull(100)
        time.advance(by: .seconds(10))
        #expect(rates() == [10])
        backlogs.pulled([], by: backlogs.poll(place))
        #expect(rates().isEmpty, "nothing waits")
        pull(100)
        #expect(rates() == [nil])
        pull(50)
        time.advance(by: .seconds(10))
        #expect(rates() == [5])
        backlogs.endMeasurement(of: key)
        #expect(rates().isEmpty)
        pull(100)
        #expect(rates() == [nil])
        time.advance(by: .seconds(10))
        #expect(rates().isEmpty, "nothing was pulled")
    }
}
