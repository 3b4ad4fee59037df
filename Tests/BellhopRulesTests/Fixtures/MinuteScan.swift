import BellhopRules
import Testing

/// A stretch of time minute by minute, with the offsets that the C library has for each.
///
/// From them it finds by plain looking what the rules work out: no table, no rule, no arithmetic with periods.
struct MinuteScan {
    /// The first minute, in minutes since 1970.
    let start: Int
    /// What the clocks show at each minute, in minutes since 1970.
    let shown: [Int]
    /// For each reading from the first one on, the position at which the clocks have first reached it.
    private let reached: [Int]
    /// The dates that the clocks show, in days since 1970.
    private let dates: Set<Int>

    /// Takes an answer to `minutes`; offsets that are no whole minutes have no place here.
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

    /// For each minute, the position of the first later one whose hour is outside `[from, to)`; nil where the hour of
    /// the minute itself is outside, `shown.count` where the scan ends before.
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

    /// When the clocks have first reached a time of a date; nil where they never show that date.
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

    /// The instant of a position.
    func instant(_ position: Int) -> Timestamp {
        Timestamp(clamping: Int64(start + position) * 60_000_000)
    }
}
