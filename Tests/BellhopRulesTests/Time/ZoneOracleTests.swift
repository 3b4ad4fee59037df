import BellhopRules
import Foundation
import TestSupport
import Testing

/// Compares every zone of the tz database with the C library.
@Suite("Zones against the C library", .limitedConcurrency, .enabled(if: ClockOracle.isThere, ClockOracle.absence))
struct ZoneOracleTests {
    /// 2024-01-01 to 2031-01-01, in seconds since 1970.
    private static let years = 1_704_067_200..<1_924_992_000

    @Test("every zone changes its clocks from 2024 to 2030 when the C library does, by as much, and at no other time")
    func changes() async throws {
        let zones = try Zones.distinct()
        try #require(zones.count > 300)
        let answers = try await ClockOracle.ask(
            zones.map { "changes \($0.name) \(Self.years.lowerBound) \(Self.years.upperBound)" }
        )
        var changes = 0
        for ((name, bytes), answer) in zip(zones, answers) {
            let zone = try Zone(name: Zones.name(name), tzif: bytes)
            let ours = zone.transitions(in: Self.years).map {
                "\($0.instant.microseconds / 1_000_000):\($0.before):\($0.after)"
            }
            #expect(ours == answer.map(String.init), "\(name)")
            changes += ours.count
        }
        #expect(changes > 1_000)
    }

    @Test("every zone has the C library's offset at random instants from 1970 to 2400, by table and by rule")
    func offsets() async throws {
        var chance = SeededChance.announced("offsets of every zone")
        let zones = try Zones.distinct()
        let times = zones.map { _ in (0..<60).map { _ in Int.random(in: 0..<13_569_465_600, using: &chance) } }
        let answers = try await ClockOracle.ask(
            zip(zones, times).map { "at \($0.name) \($1.map(String.init).joined(separator: " "))" }
        )
        for (index, (name, bytes)) in zones.enumerated() {
            let zone = try Zone(name: Zones.name(name), tzif: bytes)
            let ours = try times[index].map { zone.offset(at: try #require(Timestamp(seconds: UInt64($0)))) }
            #expect(ours == answers[index].compactMap { Int($0) }, "\(name)")
        }
    }

    @Test("near every change, quiet hours and local times equal a search minute by minute")
    func minuteByMinute() async throws {
        var chance = SeededChance.announced("minute by minute")
        var examined = 0
        for (zone, scan) in try await Self.scans(using: &chance) {
            let check = ScanCheck(zone: zone, scan: scan, phase: Int.random(in: 0..<915, using: &chance))
            for _ in 0..<2 {
                let window = (Int.random(in: 0..<24, using: &chance), Int.random(in: 0..<24, using: &chance))
                check.quietHours(from: window.0, to: window.1)
            }
            check.localTimes()
            check.occurrences()
            check.schedule(at: (0..<3).map { _ in Int.random(in: 0..<1_440, using: &chance) })
            examined += 1
        }
        #expect(examined > 300)
    }

    /// Returns scans of four days near every distinct change of clocks, near historical changes, and near random days.
    private static func scans(using chance: inout SeededChance) async throws -> [(Zone, MinuteScan)] {
        let day = 86_400
        var middles: [(name: String, time: Int)] = [
            ("Pacific/Apia", 1_325_239_200), ("Pacific/Kwajalein", 745_934_400), ("Pacific/Kiritimati", 788_868_000),
            ("America/Caracas", 1_462_086_000), ("Asia/Pyongyang", 1_525_446_000), ("Europe/Moscow", 1_414_274_400),
            ("America/Asuncion", 1_729_396_800), ("Asia/Almaty", 1_709_236_800),
        ]
        var seen: Set<[Zone.Transition]> = []
        for (name, bytes) in try Zones.distinct() {
            let zone = try Zone(name: Zones.name(name), tzif: bytes)
            let changes = zone.transitions(in: years)
            let random = Int.random(in: years, using: &chance) / day * day
            guard seen.insert(changes).inserted else { continue }
            middles.append((name, random))
            middles += changes.map { (name, Int($0.instant.microseconds / 1_000_000)) }
        }
        let starts = middles.map { ($0.time / 3600) * 3600 - 2 * day }
        let answers = try await ClockOracle.ask(
            zip(middles, starts).map { "minutes \($0.name) \($1) \($1 + 4 * day)" }
        )
        return try zip(zip(middles, starts), answers).map { question, answer in
            (try Zones.named(question.0.name), try MinuteScan(start: question.1 / 60, answer))
        }
    }
}

extension Zone {
    /// Returns all changes in a range of seconds since 1970.
    func transitions(in seconds: Range<Int>) -> [Transition] {
        var found: [Transition] = []
        var from = Timestamp(clamping: Int64(seconds.lowerBound) * 1_000_000)
        let end = Timestamp(clamping: Int64(seconds.upperBound) * 1_000_000)
        while let next = transition(after: from), next.instant <= end {
            found.append(next)
            from = next.instant
        }
        return found
    }
}
