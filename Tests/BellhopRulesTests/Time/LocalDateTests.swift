import BellhopRules
import Testing

@Suite("Local dates and times")
struct LocalDateTests {
    @Test("every day from 1970 to 2400 follows the one before, by name, weekday and number")
    func days() throws {
        var (year, month, day) = (1970, 1, 1)
        var weekday = 3
        for number in 0..<157_054 {
            let date = try #require(LocalDate(year: year, month: month, day: day))
            let parts = date.parts
            guard date.daysSinceEpoch == number, parts == (year, month, day), date.weekday == Weekday.allCases[weekday]
            else {
                Issue.record("\(date) is not day \(number)")
                return
            }
            weekday = (weekday + 1) % 7
            (year, month, day) = Self.following(year, month, day)
        }
        #expect((year, month, day) == (2400, 1, 1))
    }

    @Test(
        "dates that the calendar does not have are rejected",
        arguments: [
            (2026, 2, 29), (2100, 2, 29), (2026, 0, 1), (2026, 13, 1), (2026, 4, 31), (2026, 1, 0), (0, 1, 1),
            (10_000, 1, 1),
        ]
    )
    func impossible(year: Int, month: Int, day: Int) {
        #expect(LocalDate(year: year, month: month, day: day) == nil)
    }

    @Test(
        "a written date is read back",
        arguments: ["1970-01-01", "2000-02-29", "2026-11-21", "9999-12-31", "0001-01-01"]
    )
    func text(text: String) throws {
        #expect(try #require(LocalDate(validating: text)).description == text)
    }

    @Test(
        "any other text is rejected as a date",
        arguments: ["", "2026-1-01", "2026-02-30", "20260101", "2026/01/01", "2026-01-0a", "+026-01-01", "٢٠٢٦-٠١-٠١"]
    )
    func noDate(text: String) {
        #expect(LocalDate(validating: text) == nil)
    }

    @Test("times are ordered through the day, and hours and minutes that no clock shows are rejected")
    func times() throws {
        let times = try ["00:00", "00:59", "01:00", "23:59"].map { try #require(LocalTime(validating: $0)) }
        #expect(times.shuffled().sorted() == times)
        #expect(LocalTime(hour: 7, minute: 5)?.description == "07:05")
        for (hour, minute) in [(24, 0), (-1, 0), (0, 60), (0, -1)] {
            #expect(LocalTime(hour: hour, minute: minute) == nil)
        }
    }

    @Test(
        "an offset is written with seconds only if it has some",
        arguments: [(0, "+00:00"), (-12_600, "-03:30"), (-2_670, "-00:44:30"), (50_400, "+14:00")]
    )
    func offsets(offset: Int, text: String) {
        #expect(LocalDateTime.text(ofOffset: offset) == text)
    }

    private static func following(_ year: Int, _ month: Int, _ day: Int) -> (Int, Int, Int) {
        let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        if day < lengths[month - 1] { return (year, month, day + 1) }
        return month < 12 ? (year, month + 1, 1) : (year + 1, 1, 1)
    }
}
