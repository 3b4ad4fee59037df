import BellhopRules
import Testing

/// A range of time in minutes, with the C library's offset for each.
///
/// It finds the rules' results by search: without tables, rules or arithmetic with periods.
struct MinuteScan {
    /// The first minute, in minutes since 1970.
    let start: Int
    /// The local time at each minute, in minutes since 1970.
    let shown: [Int]
    /// For each local time from the first one on, the position at which the clocks first reached it.
    private let reached: [Int]
    /// The dates that the clocks show, in days since 1970.
    private let dates: Set<Int>

    /// Reads an answer to `minutes`; offsets that are not whole minutes are not supported.
    init(start: Int, _ runs: [Substring]) throws {
        var shown: [Int] = []
        for run in runs {
            let parts = run.split(separator: ":").compactMap { Int($0) }
            try #require(parts.count == 2 && parts[0] % 60 == 0)
            let first = start + shown.count + parts[0] / 60
            shown.append(contentsOf: first..<first + parts[1])
        }
        try #require(shown.count > 1_440)
        var reached: [Int] = []
        var dates: Set<Int> = []
        for (position, reading) in shown.enumerated() {
            while shown[0] + reached.count <= reading { reached.append(position) }
            if dates.isEmpty || reading % 1_440 == 0 || reading - shown[position - 1] != 1 {
                dates.insert(reading / 1_440)
            }
        }
        self.start = start
        self.shown = shown
        self.reached = reached
        self.dates = dates
    }

    /// Returns, for each minute, the position of the first later one whose hour is outside `[from, to)`.
    ///
    /// It is `nil` if the minute's own hour is outside, and `shown.count` if the scan ends before.
    func quietEnds(from: Int, to: Int) -> [Int?] {
        var ends: [Int?] = Array(repeating: nil, count: shown.count)
        var next = shown.count
        for position in shown.indices.reversed() {
            let hour = shown[position] / 60 % 24
            let isQuiet = from <= to ? hour >= from && hour < to : hour >= from || hour < to
            if isQuiet { ends[position] = next } else { next = position }
        }
        return ends
    }

    /// Returns the instant at which the clocks first reached a time of a date, or `nil` if they never show that date.
    func instant(ofDay day: Int, minute: Int) -> Timestamp? {
        let index = day * 1_440 + minute - shown[0]
        guard dates.contains(day), reached.indices.contains(index) else { return nil }
        return instant(reached[index])
    }

    /// The days that begin and end inside the scan, in days since 1970, whether the clocks show them or not.
    var wholeDays: Range<Int> {
        shown[0] / 1_440 + 1..<shown[shown.count - 1] / 1_440
    }

    /// The position in the middle, around which the clocks change.
    var middle: Int { shown.count / 2 }

    /// Returns the instant of a position.
    func instant(_ position: Int) -> Timestamp {
        Timestamp(clamping: Int64(start + position) * 60_000_000)
    }
}
