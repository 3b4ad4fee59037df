import ServiceRuntime
import TestSupport
import Testing

@Suite("Durations as text")
struct DurationTextTests {
    @Test(
        "a number with a unit, or bare seconds, is read",
        arguments: [
            ("500ms", .milliseconds(500)), ("10s", .seconds(10)), ("2m", .seconds(120)), ("1h", .seconds(3_600)),
            ("7d", .seconds(604_800)), ("20", .seconds(20)), ("0s", .zero),
        ] as [(String, Duration)]
    )
    func reads(text: String, expected: Duration) {
        #expect(Duration(text: text) == expected)
    }

    @Test(
        "any other text is rejected",
        arguments: [
            "", "s", "-1s", "+1s", "1.5s", "1 s", " 1s", "1s ", "1w", "1S", "1h30m", "١s", "9223372036854775807h",
            "99999999999999999999s", "1\0s",
        ]
    )
    func refuses(text: String) {
        #expect(Duration(text: text) == nil)
    }

    @Test(
        "the short text uses the largest unit that fits",
        arguments: [
            ("90s", "90s"), ("120s", "2m"), ("3600", "1h"), ("86400s", "1d"), ("1500ms", "1500ms"), ("0", "0s"),
        ]
    )
    func shortText(text: String, expected: String) {
        #expect(Duration(text: text)?.shortText == expected)
    }

    @Test("the short text reads back as the same duration")
    func roundTrip() {
        let seed: UInt64 = 7
        var generator = SeededChance(seed)
        for _ in 0..<500 {
            let span = Duration.milliseconds(Int64.random(in: 0...10_000_000_000, using: &generator))
            #expect(Duration(text: span.shortText) == span, "seed \(seed)")
        }
    }
}
