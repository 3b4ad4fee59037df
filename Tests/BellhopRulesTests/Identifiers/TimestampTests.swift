import BellhopRules
import Foundation
import TestSupport
import Testing

@Suite("Instants")
struct TimestampTests {
    @Test(
        "every variant of RFC 3339 is read",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-02-15T13:45:00.000Z", 1_771_163_100_000_000),
            ("2026-02-15t13:45:00z", 1_771_163_100_000_000), ("2026-02-15T14:45:00+01:00", 1_771_163_100_000_000),
            ("2026-02-15T08:15:00-05:30", 1_771_163_100_000_000), ("2026-02-15T13:45:00.1Z", 1_771_163_100_100_000),
            ("2026-02-15T13:45:00.123456789Z", 1_771_163_100_123_456), ("2024-02-29T00:00:00Z", 1_709_164_800_000_000),
            ("2000-02-29T23:59:59Z", 951_868_799_000_000), ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
            ("1969-12-31T23:30:00-00:30", 0), ("2026-02-15T13:45:00-00:00", 1_771_163_100_000_000),
        ]
    )
    func reads(text: String, microseconds: Int64) {
        #expect(Timestamp(validating: text)?.microseconds == microseconds)
    }

    @Test(
        "any other text is rejected",
        arguments: [
            "", "2026", "2026-02-15", "2026-02-15T13:45:00", "2026-02-15 13:45:00Z", "2026-02-15T13:45Z",
            "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z", "2026-02-15T24:00:00Z",
            "2026-02-15T23:60:00Z", "2016-12-31T23:59:60Z", "2026-02-15T13:45:00.Z", "2026-02-15T13:45:00.1234567890Z",
            "2026-02-15T13:45:00+0100", "2026-02-15T13:45:00+01", "2026-02-15T13:45:00+24:00",
            "2026-02-15T13:45:00+01:60", "2026-02-15T13:45:00Z ", " 2026-02-15T13:45:00Z", "2026-2-15T13:45:00Z",
            "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-00:01", "10000-01-01T00:00:00Z", "+026-02-15T13:45:00Z",
            "-026-02-15T13:45:00Z", "２０２６-02-15T13:45:00Z", "2026-02-15T13:45:00.000", "2026-02-15T13:45:00,000Z",
        ]
    )
    func refuses(text: String) {
        #expect(Timestamp(validating: text) == nil)
    }

    @Test("written instants read back unchanged, and agree with Foundation's calendar")
    func agreesWithFoundation() throws {
        var generator = SeededChance.announced("instants")
        let formatter = ISO8601DateFormatter()
        for _ in 0..<SeededChance.rounds(300) {
            let seconds = Int64.random(in: 0...253_402_300_799, using: &generator)
            let micros = Int64.random(in: 0..<1_000_000, using: &generator)
            let instant = try #require(Timestamp(microseconds: seconds * 1_000_000 + micros))
            #expect(Timestamp(validating: instant.description) == instant)
            let whole = try #require(Timestamp(microseconds: seconds * 1_000_000))
            let written = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            #expect(whole.description == written.replacing("Z", with: ".000Z"))
        }
    }

    @Test("numbers outside the range are nil, however large")
    func range() {
        #expect(Timestamp(microseconds: -1) == nil)
        #expect(Timestamp(microseconds: .max) == nil)
        #expect(Timestamp(seconds: .max) == nil)
        #expect(Timestamp(seconds: UInt64(Int64.max)) == nil)
        #expect(Timestamp(seconds: 253_402_300_800) == nil)
        #expect(Timestamp(seconds: 253_402_300_799)?.description == "9999-12-31T23:59:59.000Z")
        #expect(Timestamp(microseconds: 1)?.description == "1970-01-01T00:00:00.000001Z")
    }

    @Test("local times from 00:00 to 23:59 are accepted")
    func localTimes() {
        #expect(LocalTime(validating: "00:00")?.description == "00:00")
        #expect(LocalTime(validating: "23:59")?.description == "23:59")
        #expect(LocalTime(validating: "09:05")?.hour == 9)
        for text in ["", "9:00", "24:00", "23:60", "0900", "09:0a", "09:00:00", "-9:00"] {
            #expect(LocalTime(validating: text) == nil, "\(text)")
        }
    }
}
