import BellhopRules
import Foundation
import Testing

@Suite("Sampled zones")
struct SampledZoneTests {
    @Test(
        "a zone sampled from the platform's offsets equals the zone of the tz database",
        arguments: ["Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
    )
    func platform(name: String) throws {
        let platform = try #require(TimeZone(identifier: name))
        let (start, end) = (try at("2025-01-01T00:00:00Z"), try at("2028-01-01T00:00:00Z"))
        let zone = Zone(name: try Zones.name(name), from: start, to: end) { instant in
            platform.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant.microseconds) / 1_000_000))
        }
        let years = 1_735_689_600..<1_830_297_600
        #expect(try zone.transitions(in: years) == Zones.named(name).transitions(in: years))
    }

    @Test("changes at odd seconds and a few hours apart are found to the second")
    func oddChanges() throws {
        let changes = [(0, 0), (100_007, 60), (121_600, -3600), (143_201, 7200), (200_000, 0)]
        let zone = Zone(name: try Zones.name("Test/Zone"), from: seconds(0), to: seconds(300_000)) { instant in
            changes.last { $0.0 * 1_000_000 <= instant.microseconds }?.1 ?? 0
        }
        let found = zone.transitions(in: 0..<400_000).map { [Int($0.instant.microseconds / 1_000_000), $0.after] }
        #expect(found == changes.dropFirst().map { [$0.0, $0.1] })
    }

    @Test("an impossible offset is moved to the nearest possible one, and an empty range has one offset")
    func extremes() throws {
        let name = try Zones.name("Test/Zone")
        let far = Zone(name: name, from: seconds(0), to: seconds(50_000)) { $0 < seconds(25_000) ? .min : .max }
        #expect([0, 25_000].map { far.offset(at: seconds($0)) } == [-93_600, 93_600])
        let empty = Zone(name: name, from: seconds(50_000), to: seconds(0)) { _ in 3600 }
        #expect(empty.offset(at: seconds(9_999_999)) == 3600)
    }

    private func seconds(_ seconds: Int) -> Timestamp {
        Timestamp(clamping: Int64(seconds) * 1_000_000)
    }
}
