import Foundation
import ServiceRuntime
import TestSupport
import Testing

@Suite("Instant")
struct InstantTests {
    @Test(
        "is written as RFC 3339 in UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (946_684_799_999_999, "1999-12-31T23:59:59.999Z"),
            (1_709_164_800_000_000, "2024-02-29T00:00:00.000Z"),
            (1_771_163_100_123_456, "2026-02-15T13:45:00.123Z"),
            (-62_167_219_200_000_000, "0000-01-01T00:00:00.000Z"),
            (-62_167_219_200_000_001, "-000001-12-31T23:59:59.999Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000_000, "+010000-01-01T00:00:00.000Z"),
            (Int64.max, "+294247-01-10T04:00:54.775Z"),
            (Int64.min, "-290308-12-21T19:59:05.224Z"),
        ] as [(Int64, String)]
    )
    func text(microseconds: Int64, expected: String) {
        #expect("\(Instant(microseconds: microseconds))" == expected)
    }

    @Test("agrees with Foundation's calendar on days from 1600 to 2400")
    func agreement() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let seed: UInt64 = 20_260_215
        var generator = SeededChance(seed)
        for _ in 0..<3_000 {
            let seconds = Int64.random(in: -11_676_096_000...13_569_465_600, using: &generator)
            let date = Date(timeIntervalSince1970: Double(seconds))
            let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            let expected = String(
                format: "%04d-%02d-%02dT%02d:%02d:%02d.000Z",
                parts.year ?? 0,
                parts.month ?? 0,
                parts.day ?? 0,
                parts.hour ?? 0,
                parts.minute ?? 0,
                parts.second ?? 0
            )
            #expect("\(Instant(seconds: seconds))" == expected, "seed \(seed)")
        }
    }

    @Test("saturates at the ends of the range instead of trapping")
    func saturation() {
        #expect(Instant.distantFuture + .microseconds(1) == .distantFuture)
        #expect(Instant.distantPast - .microseconds(1) == .distantPast)
        #expect(Instant.distantPast + .microseconds(-1) == .distantPast)
        #expect(Instant.distantFuture - .seconds(Int64.min) == .distantFuture)
        #expect((Instant.distantFuture - Instant.distantPast).microseconds == .max)
        #expect((Instant.distantPast - Instant.distantFuture).microseconds == .min)
        #expect(Instant(seconds: .max) == .distantFuture)
        #expect(Instant(seconds: .min) == .distantPast)
        #expect(Duration.seconds(Int64.max).microseconds == .max)
        #expect(Duration.seconds(Int64.min).microseconds == .min)
    }

    @Test("is ordered, and differences undo additions")
    func order() {
        let start = Instant(seconds: 1_771_163_100)
        let later = start + .milliseconds(1_500)
        #expect(start < later)
        #expect(later - start == .milliseconds(1_500))
        #expect(start - later == .milliseconds(-1_500))
        #expect(later - .milliseconds(1_500) == start)
    }

    @Test("a manual clock changes only when a test moves it")
    func manualTime() {
        let time = ManualTime(Instant(seconds: 10))
        #expect(time.now() == time.now())
        time.advance(by: .seconds(5))
        #expect(time.now() == Instant(seconds: 15))
        time.set(to: .epoch)
        #expect(time.now() == .epoch)
    }

    @Test("the system's clock agrees with Foundation's")
    func systemTime() {
        let before = Date().timeIntervalSince1970
        let now = SystemTime().now()
        let after = Date().timeIntervalSince1970
        #expect(Double(now.microseconds) >= (before * 1_000_000).rounded(.down) - 1)
        #expect(Double(now.microseconds) <= (after * 1_000_000).rounded(.up) + 1)
    }
}
