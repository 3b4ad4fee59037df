import AMQP
@testable import Pipeline
import ServiceRuntime
import Testing

@Suite("Pace of a relay")
struct RelayPaceTests {
    private let now = Instant(microseconds: 1_000_000_000)

    @Test("after a failure one row at a time is taken, then twice as many after each success")
    func slower() {
        var pace = RelayPace()
        #expect(pace.rows == 1_000)
        let aside = pace.fail(5, .unknown("lost"), isAlone: false, isConnected: true, at: now)
        #expect(aside == nil)
        #expect(pace.rows == 1)
        for expected in [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000] {
            pace.succeed()
            #expect(pace.rows == expected)
        }
    }

    @Test("a row that fails alone three times on a connection that stays is set aside for ten minutes")
    func setAside() {
        var pace = RelayPace()
        let outcome = PublishOutcome.notSent("ACCESS_REFUSED")
        let results = (1...3).map { _ in pace.fail(7, outcome, isAlone: true, isConnected: true, at: now) }
        #expect(results == [nil, nil, 7])
        #expect(pace.asideCount == 1)
        let aside = [pace.aside(at: now), pace.aside(at: now + .seconds(599)), pace.aside(at: now + .seconds(601))]
        #expect(aside == [[7], [7], []])
    }

    @Test(
        "an unavailable broker, a full queue and a missing exchange set no row aside",
        arguments: [
            (PublishOutcome.unknown("lost"), false), (.refused, true), (.unroutable("no exchange"), true),
        ]
    )
    func patient(outcome: PublishOutcome, isConnected: Bool) {
        var pace = RelayPace()
        for _ in 1...10 {
            let aside = pace.fail(7, outcome, isAlone: true, isConnected: isConnected, at: now)
            #expect(aside == nil)
        }
        #expect(pace.asideCount == 0)
    }

    @Test("at most a thousand rows are set aside")
    func bounded() {
        var pace = RelayPace()
        for row in 0..<Int64(1_001) {
            for _ in 1...3 {
                _ = pace.fail(row, .unwritable("x"), isAlone: true, isConnected: true, at: now + .microseconds(row))
            }
        }
        #expect(pace.asideCount == 1_000)
        let aside = pace.aside(at: now)
        #expect(!aside.contains(0))
    }
}

@Suite("Alarm")
struct AlarmTests {
    @Test("a ring ends a sleep, also one that begins after it")
    func rings() async {
        let alarm = Alarm()
        alarm.ring()
        await alarm.sleep(for: .seconds(3_600))
        async let sleep: Void = alarm.sleep(for: .seconds(3_600))
        alarm.ring()
        await sleep
    }
}
