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
        let isAside = pace.fail(5, .unknown("lost"), isAlone: false, isConnected: true, at: now)
        #expect(!isAside)
        #expect(pace.rows == 1)
        for expected in [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000] {
            pace.succeed([])
            #expect(pace.rows == expected)
        }
    }

    @Test("no more rows are taken than twice those whose bodies fit into a batch")
    func fitting() {
        var pace = RelayPace()
        let large = 256 << 10
        for (rows, bytes, expected) in [(16, 16 * large, 32), (32, 16 * large, 64), (64, 64 * 300, 1_000)] {
            pace.took(rows, bytes: bytes)
            #expect(pace.rows == expected)
        }
        pace.took(1, bytes: 64 << 20)
        #expect(pace.rows == 1)
        pace.took(0, bytes: 0)
        #expect(pace.rows == 1)
    }

    @Test("a row that is refused alone is set aside for a minute, and each time for twice as long, up to ten minutes")
    func setAside() {
        var pace = RelayPace()
        var time = now
        for rest in [60, 120, 240, 480, 600, 600] {
            let isAside = pace.fail(7, .notSent("ACCESS_REFUSED"), isAlone: true, isConnected: true, at: time)
            #expect(isAside)
            let last = time + .seconds(rest) + .microseconds(-1)
            let before = pace.aside(at: last)
            #expect(before == [7])
            #expect(pace.rested(at: last) == [])
            time = time + .seconds(rest)
            #expect(pace.aside(at: time) == [])
            #expect(pace.rested(at: time) == [7])
            #expect(pace.asideCount == 1)
        }
        pace.succeed([7])
        #expect(pace.asideCount == 0)
    }

    @Test(
        "an unavailable broker, missing confirms, a full queue and a missing exchange set no row aside",
        arguments: [
            (PublishOutcome.notSent("not connected"), false), (.unknown("not confirmed in time"), true),
            (.refused, true), (.unroutable("no exchange"), true),
        ]
    )
    func patient(outcome: PublishOutcome, isConnected: Bool) {
        var pace = RelayPace()
        for _ in 1...10 {
            let isAside = pace.fail(7, outcome, isAlone: true, isConnected: isConnected, at: now)
            #expect(!isAside)
        }
        #expect(pace.asideCount == 0)
    }

    @Test("at most ten thousand rows are set aside, and deleted ones are forgotten")
    func bounded() {
        var pace = RelayPace()
        for row in 0...Int64(RelayPace.mostSetAside) {
            _ = pace.fail(row, .unwritable("x"), isAlone: true, isConnected: true, at: now + .microseconds(row))
        }
        #expect(pace.asideCount == RelayPace.mostSetAside)
        let aside = pace.aside(at: now)
        #expect(!aside.contains(0))
        pace.forget([5, 6])
        #expect(pace.asideCount == RelayPace.mostSetAside - 2)
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
