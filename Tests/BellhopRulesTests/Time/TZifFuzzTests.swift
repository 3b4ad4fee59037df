import BellhopRules
import Foundation
import TestSupport
import Testing

@Suite("Random zone files, rules and slim files")
struct TZifFuzzTests {
    @Test("changed, removed and repeated bytes give a fault or a zone that answers, never a crash")
    func fuzz() throws {
        var chance = SeededChance.announced("hostile zones")
        let originals = try ["Europe/Oslo", "Pacific/Apia", "Africa/Casablanca", "Etc/UTC"].map(Zones.bytes)
        var (refused, taken) = (0, 0)
        for _ in 0..<SeededChance.rounds(3_000) {
            var bytes = try #require(originals.randomElement(using: &chance))
            for _ in 0..<Int.random(in: 1...8, using: &chance) { Self.spoil(&bytes, using: &chance) }
            guard let zone = try? Zone(name: Zones.name("Test/Zone"), tzif: bytes) else {
                refused += 1
                continue
            }
            taken += 1
            Self.ask(zone, using: &chance)
        }
        #expect(refused > 0 && taken > 0)
    }

    private static func spoil(_ bytes: inout [UInt8], using chance: inout SeededChance) {
        guard let place = bytes.indices.randomElement(using: &chance) else { return }
        switch Int.random(in: 0..<6, using: &chance) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(bytes[place], at: place)
        case 2: bytes.removeSubrange(place...)
        case 3: bytes[min(20 + place % 24, bytes.count - 1)] = UInt8.random(in: 0...3, using: &chance)
        default:
            bytes[place] =
                [0, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &chance)].randomElement(using: &chance) ?? 0
        }
    }

    /// Calls every function of the zone, at both ends of time and between.
    private static func ask(_ zone: Zone, using chance: inout SeededChance) {
        let latest: Int64 = 253_402_300_799_999_999
        let random = (0..<4).map { _ in Int64.random(in: 0...latest, using: &chance) }
        for microseconds in [0, latest] + random {
            let instant = Timestamp(clamping: microseconds)
            let local = zone.local(at: instant)
            _ = zone.transition(after: instant)
            _ = zone.instants(showing: local.date, at: local.time)
            #expect(zone.instant(of: local.date, at: local.time) ?? instant <= instant)
            let hours = QuietHours(
                enabled: true,
                startHour: local.time.hour,
                endHour: Int.random(in: 0..<24, using: &chance)
            )
            if let until = hours.until(instant, in: zone), microseconds < latest - 400_000_000_000 {
                #expect(until > instant)
                #expect(hours.until(until, in: zone) == nil)
            }
            if let slot = LocalSchedule(at: local.time, in: zone).next(after: instant) {
                #expect(slot.instant > instant)
            }
        }
    }

    @Test(
        "rules of every form give the C library's offsets near their changes",
        .enabled(if: ClockOracle.isThere, ClockOracle.absence)
    )
    func footers() async throws {
        var chance = SeededChance.announced("rules of every form")
        var zones: [(rule: String, zone: Zone, times: [Int])] = []
        for _ in 0..<SeededChance.rounds(400) {
            let rule = Self.rule(using: &chance)
            let zone = try Zone(name: Zones.name("Test/Zone"), tzif: TZifFile(footer: rule).bytes)
            let year = Int.random(in: 0..<300, using: &chance) * 31_556_952 + 31_556_952
            let changes = zone.transitions(in: year..<year + 4 * 31_556_952)
            #expect(changes.count > 6, "\(rule)")
            let around = changes.map { Int($0.instant.microseconds / 1_000_000) }.flatMap { [$0 - 1, $0] }
            zones.append(
                (rule, zone, around + (0..<10).map { _ in Int.random(in: 31_536_000..<9_000_000_000, using: &chance) })
            )
        }
        let answers = try await ClockOracle.ask(
            zones.map { "at \($0.rule) \($0.times.map(String.init).joined(separator: " "))" }
        )
        for (entry, answer) in zip(zones, answers) {
            let ours = entry.times.map { entry.zone.offset(at: Timestamp(clamping: Int64($0) * 1_000_000)) }
            #expect(ours == answer.compactMap { Int($0) }, "\(entry.rule)")
        }
    }

    /// Returns a rule from spring to autumn or the reverse, far enough from New Year that all libraries agree.
    private static func rule(using chance: inout SeededChance) -> String {
        func time(upTo hours: Int) -> String {
            let text = String(Int.random(in: -hours...hours, using: &chance))
            return Bool.random(using: &chance) ? text + ":" + String(Int.random(in: 10...59, using: &chance)) : text
        }
        func moment(_ months: ClosedRange<Int>) -> String {
            let month = Int.random(in: months, using: &chance)
            let day =
                switch Int.random(in: 0..<3, using: &chance) {
                case 0: "J\(month * 30 + Int.random(in: 0...5, using: &chance))"
                case 1: "\(month * 30 + Int.random(in: 0...5, using: &chance))"
                default: "M\(month).\(Int.random(in: 1...5, using: &chance)).\(Int.random(in: 0...6, using: &chance))"
                }
            return Bool.random(using: &chance) ? "\(day)/\(time(upTo: 167))" : day
        }
        let name = ["XST", "<+05>", "<-0330>", "ABCDEF"].randomElement(using: &chance) ?? ""
        let other = ["XDT", "<A1B>"].randomElement(using: &chance) ?? ""
        let behind = Int.random(in: -14...12, using: &chance)
        // One hour ahead by default; otherwise by minutes that no other rule has, so that every change is one.
        let daylight = Bool.random(using: &chance) ? "" : "\(behind):\(Int.random(in: 10...50, using: &chance)):07"
        let (spring, autumn) = (moment(2...4), moment(7...10))
        let order = Bool.random(using: &chance) ? "\(spring),\(autumn)" : "\(autumn),\(spring)"
        return "\(name)\(behind)\(other)\(daylight),\(order)"
    }

    private static let compiler = URL(fileURLWithPath: "/usr/sbin/zic")
    private static let source = URL(fileURLWithPath: Zones.folder).appendingPathComponent("tzdata.zi")
    private static let canCompile =
        FileManager.default.isExecutableFile(atPath: compiler.path)
        && FileManager.default.fileExists(atPath: source.path)

    @Test(
        "slim files, with recent years only in the footer, give the C library's offsets",
        .enabled(if: canCompile && ClockOracle.isThere, "needs zic, tzdata.zi and python3")
    )
    func slim() async throws {
        var chance = SeededChance.announced("slim zones")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-slim-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = try Process.run(Self.compiler, arguments: ["-b", "slim", "-d", folder.path, Self.source.path])
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        var zones: [(zone: Zone, times: [Int])] = []
        var smaller = 0
        for (name, fat) in try Zones.distinct() {
            guard let data = try? Data(contentsOf: folder.appendingPathComponent(name)) else { continue }
            smaller += data.count < fat.count ? 1 : 0
            let zone = try Zone(name: Zones.name(name), tzif: [UInt8](data))
            let changes = zone.transitions(in: 1_704_067_200..<2_300_000_000)
            let around = changes.map { Int($0.instant.microseconds / 1_000_000) }.flatMap { [$0 - 1, $0] }
            zones.append((zone, around + (0..<20).map { _ in Int.random(in: 0..<9_000_000_000, using: &chance) }))
        }
        #expect(smaller > 100)
        let answers = try await ClockOracle.ask(
            zones.map { "at \($0.zone.name) \($0.times.map(String.init).joined(separator: " "))" },
            of: folder.path
        )
        for (entry, answer) in zip(zones, answers) {
            let ours = entry.times.map { entry.zone.offset(at: Timestamp(clamping: Int64($0) * 1_000_000)) }
            #expect(ours == answer.compactMap { Int($0) }, "\(entry.zone.name)")
        }
    }
}
