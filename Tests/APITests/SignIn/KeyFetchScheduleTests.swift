import HTTPTransfer
import Testing

@testable import API

@Suite("Fetches of token keys")
struct KeyFetchScheduleTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func fetched(freshFor span: Duration) -> KeyFetchSchedule {
        var schedule = KeyFetchSchedule(at: start)
        _ = schedule.begin(at: start)
        schedule.succeed(freshFor: span, chance: 0, at: start)
        return schedule
    }

    @Test("the first fetch is due, and only one runs at a time")
    func first() {
        var schedule = KeyFetchSchedule(at: start)
        let begun = [schedule.begin(at: start), schedule.begin(at: at(3_600))]
        #expect(begun == [true, false])
    }

    @Test("fetched keys are used for their time, less up to a tenth of it")
    func fresh() {
        var schedule = fetched(freshFor: .seconds(600))
        let begun = [schedule.begin(at: at(599)), schedule.begin(at: at(600))]
        #expect(begun == [false, true])
        schedule.succeed(freshFor: .seconds(600), chance: 1, at: at(600))
        #expect(schedule.dueAt == at(600 + 540))
    }

    @Test("failures are repeated with growing pauses of at most five minutes, and a success resets them")
    func failures() {
        var schedule = KeyFetchSchedule(at: start)
        var pauses: [Duration] = []
        var now = start
        for _ in 0..<8 {
            let hasBegun = schedule.begin(at: now)
            #expect(hasBegun)
            pauses.append(schedule.fail(chance: 0, at: now))
            now = schedule.dueAt
        }
        #expect(pauses.prefix(3) == [.seconds(10), .seconds(20), .seconds(40)] && pauses.last == .seconds(300))
        _ = schedule.begin(at: now)
        schedule.succeed(freshFor: .seconds(600), chance: 0, at: now)
        let pause = schedule.fail(chance: 0, at: now)
        #expect(pause == .seconds(10))
    }

    @Test("unknown keys bring the next fetch forward, but not within a minute of the latest one")
    func unknownKeys() {
        var late = fetched(freshFor: .seconds(3_600))
        late.noteUnknownKey(at: at(1_000))
        #expect(late.dueAt == at(1_000))
        var early = fetched(freshFor: .seconds(3_600))
        for second in [1, 2, 30] { early.noteUnknownKey(at: at(second)) }
        #expect(early.dueAt == at(60))
        var soon = fetched(freshFor: .seconds(30))
        soon.noteUnknownKey(at: at(1))
        #expect(soon.dueAt == at(30))
    }

    @Test(
        "the time of keys follows the cache headers within bounds",
        arguments: [
            ("Cache-Control: public, max-age=21600, must-revalidate", 21_600), ("Cache-Control: max-age=15", 300),
            ("Cache-Control: max-age=99999999999", 86_400), ("Cache-Control: no-cache", 300),
            ("Cache-Control: No-Store, Max-Age=600", 300), ("Cache-Control: private", 3_600),
            ("Cache-Control: max-age=7200\r\nAge: 1200", 6_000), ("Cache-Control: max-age=600\r\nAge: 9999", 300),
            ("Cache-Control: max-age=600\r\nAge: -9", 600), ("Cache-Control: max-age=-5", 300),
            ("Expires: Fri, 15 Jan 2027 09:00:00 GMT", 3_600), ("Expires: 0", 300), ("Content-Type: text/plain", 3_600),
        ]
    )
    func headers(lines: String, seconds: Int) {
        let span = KeyFreshness.span(AnswerHeaders(lines: Array((lines + "\r\n").utf8)), now: 1_800_000_000)
        #expect(span == .seconds(seconds))
    }
}
