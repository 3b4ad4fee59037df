import BellhopRules
import Testing

/// Compares a zone's answers with a scan of its clocks, and reports the first difference of each rule.
struct ScanCheck {
    let zone: Zone
    let scan: MinuteScan
    /// The selection of minutes to check, from 0.
    let phase: Int

    /// The checked positions: dense near a change of the clocks, sparse elsewhere, every minute of the change itself.
    private var positions: [Int] {
        let middle = scan.middle
        return scan.shown.indices.filter { position in
            let distance = abs(position - middle)
            return distance < 3 || (distance < 200 && position % 5 == phase % 5) || position % 61 == phase % 61
        }
    }

    /// Checks quiet hours; for a window that ends outside the scan, it is only known that it ends there.
    func quietHours(from: Int, to: Int) {
        let hours = QuietHours(enabled: true, startHour: from, endHour: to)
        let ends = scan.quietEnds(from: from, to: to)
        let behind = scan.shown.count
        for position in positions {
            let until = hours.until(scan.instant(position), in: zone)
            let expected = from == to ? nil : ends[position]
            let isRight =
                expected == behind
                ? until.map { $0 >= scan.instant(behind) } ?? false : until == expected.map(scan.instant)
            guard isRight else {
                Issue.record("\(zone.name), \(from) to \(to), at \(scan.instant(position)): until \(text(until))")
                return
            }
        }
    }

    /// Checks times of each date, dense near a change of the clocks.
    func localTimes() {
        let change = scan.shown[scan.middle] % 1_440
        for day in scan.wholeDays {
            for minute in 0..<1_440 where minute % 15 == phase % 15 || abs(minute - change) < 65 {
                guard let date = Self.date(day), let time = LocalTime(hour: minute / 60, minute: minute % 60) else {
                    return
                }
                let instant = zone.instant(of: date, at: time)
                guard instant == scan.instant(ofDay: day, minute: minute) else {
                    Issue.record("\(zone.name), \(date) \(time) should not be \(text(instant))")
                    return
                }
            }
        }
    }

    /// Checks every instant of a time at which the clocks change, and of one at which they do not.
    func occurrences() {
        for minute in [scan.shown[scan.middle] - 30, scan.shown[scan.middle] + 30] {
            let expected = scan.shown.indices.filter { scan.shown[$0] == minute }.map(scan.instant)
            guard let date = Self.date(minute / 1_440),
                let time = LocalTime(hour: minute / 60 % 24, minute: minute % 60)
            else { return }
            #expect(zone.instants(showing: date, at: time) == expected, "\(zone.name), \(date) \(time)")
        }
    }

    /// Checks several times per day from every checked position.
    func schedule(at minutes: [Int]) {
        let times = minutes.compactMap { LocalTime(hour: $0 / 60, minute: $0 % 60) }
        guard let schedule = LocalSchedule(at: times, in: zone) else { return }
        let slots = scan.wholeDays.flatMap { day in
            minutes.sorted().compactMap { scan.instant(ofDay: day, minute: $0) }
        }
        // The last whole day always has a separate slot.
        let inside = scan.wholeDays.lowerBound * 1_440..<(scan.wholeDays.upperBound - 1) * 1_440
        for position in positions where inside.contains(scan.shown[position]) {
            let instant = scan.instant(position)
            let next = schedule.next(after: instant)?.instant
            guard next == slots.first(where: { $0 > instant }) else {
                Issue.record("\(zone.name), \(times) after \(instant) should not be \(text(next))")
                return
            }
        }
    }

    private func text(_ instant: Timestamp?) -> String { instant?.description ?? "nil" }

    /// Returns the date by counting, not by the calendar under test.
    private static func date(_ daysSinceEpoch: Int) -> LocalDate? {
        var (year, month, rest) = (1970, 1, daysSinceEpoch)
        func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
        while rest >= (isLeap(year) ? 366 : 365) {
            rest -= isLeap(year) ? 366 : 365
            year += 1
        }
        let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        while rest >= lengths[month - 1] {
            rest -= lengths[month - 1]
            month += 1
        }
        return LocalDate(year: year, month: month, day: rest + 1)
    }
}
