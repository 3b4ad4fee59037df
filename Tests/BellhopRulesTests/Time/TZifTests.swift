import BellhopRules
import Foundation
import Testing

@Suite("TZif files")
struct TZifTests {
    private static let hour = 3600

    private static func zone(_ file: TZifFile) throws -> Zone {
        try Zone(name: Zones.name("Test/Zone"), tzif: file.bytes)
    }

    private static func fault(_ bytes: [UInt8]) throws -> ZoneFault.Code? {
        let name = try Zones.name("Test/Zone")
        do throws(ZoneFault) {
            _ = try Zone(name: name, tzif: bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("a file of version 1 has its table, and its last offset continues")
    func versionOne() throws {
        let file = TZifFile(version: "1", transitions: [(1_000, 1), (2_000, 0)], types: [0, 7200])
        let zone = try Self.zone(file)
        #expect([999, 1_000, 1_999, 2_000, 1 << 32].map { zone.offset(at: seconds($0)) } == [0, 7200, 7200, 0, 0])
    }

    @Test("later versions are read by their wide block and their footer", arguments: ["2", "3", "4"] as [Character])
    func laterVersions(version: Character) throws {
        let file = TZifFile(
            version: version,
            transitions: [(1_000, 1), (5_000_000_000, 0)],
            types: [0, 7200],
            footer: "XST-1"
        )
        let zone = try Self.zone(file)
        #expect([999, 1_000].map { zone.offset(at: seconds($0)) } == [0, 7200])
        #expect(
            [4_999_999_999, 5_000_000_000, 9_000_000_000].map { zone.offset(at: seconds($0)) } == [7200, 3600, 3600]
        )
    }

    @Test("without transitions the footer always applies, and without a footer the last offset continues")
    func footerAlone() throws {
        #expect(try Self.zone(TZifFile(footer: "<+0545>-5:45")).offset(at: seconds(0)) == 20_700)
        let silent = try Self.zone(TZifFile(transitions: [(1_000, 1)], types: [0, -3600], footer: ""))
        #expect([0, 1_000, 9_000_000_000].map { silent.offset(at: seconds($0)) } == [0, -3600, -3600])
    }

    @Test("the last change before 1970 applies when 1970 begins")
    func past() throws {
        let file = TZifFile(transitions: [(-1 << 59, 1), (-1_000, 2)], types: [0, 60, 120], footer: "")
        #expect(try Self.zone(file).offset(at: seconds(0)) == 120)
        let ruled = TZifFile(
            transitions: [(.min, 1), (-1, 2)],
            types: [0, 60, 120],
            footer: "CET-1CEST,M3.5.0,M10.5.0/3"
        )
        #expect(try Self.zone(ruled).local(at: at("2026-07-01T00:00:00Z")).description == "2026-07-01 02:00 +02:00")
    }

    @Test("a change after the year 9999 never occurs")
    func future() throws {
        let file = TZifFile(
            transitions: [(1_000, 1), (.max, 0)],
            types: [0, 60],
            footer: "CET-1CEST,M3.5.0,M10.5.0/3"
        )
        let zone = try Self.zone(file)
        #expect(zone.offset(at: Timestamp(clamping: .max)) == 60)
        #expect(zone.transition(after: seconds(1_000)) == nil)
    }

    @Test("a transition to the same offset is not a change")
    func noChange() throws {
        let file = TZifFile(transitions: [(1_000, 1), (2_000, 2), (3_000, 0)], types: [0, 60, 60], footer: "UTC0")
        let zone = try Self.zone(file)
        #expect(zone.transition(after: seconds(0))?.instant == seconds(1_000))
        #expect(zone.transition(after: seconds(1_000))?.instant == seconds(3_000))
        #expect(zone.transition(after: seconds(3_000)) == nil)
    }

    @Test("a footer that differs from the table applies from the table's end on")
    func disagreement() throws {
        let file = TZifFile(transitions: [(1_000, 1), (2_000, 0)], types: [0, 60], footer: "XST-2")
        let zone = try Self.zone(file)
        #expect([1_999, 2_000].map { zone.offset(at: seconds($0)) } == [60, 7200])
        #expect(zone.transition(after: seconds(1_500)).map { [$0.before, $0.after] } == [60, 7200])
    }

    @Test(
        "each fault of a file has its code",
        arguments: [
            (TZifFile(types: []), .typeCount), (TZifFile(transitions: [(1, 1)]), .typeIndex),
            (TZifFile(transitions: [(2, 0), (2, 0)]), .order), (TZifFile(types: [93_601]), .offset),
            (TZifFile(types: [.min]), .offset), (TZifFile(leaps: 1), .leapSeconds),
        ] as [(TZifFile, ZoneFault.Code)]
    )
    func faults(file: TZifFile, code: ZoneFault.Code) throws {
        #expect(try Self.fault(file.bytes) == code)
    }

    @Test(
        "a footer that is not a rule is rejected",
        arguments: [
            "X0", "XY0", "XYZ", "<>0", "<X0", "XYZ0ABC", "XYZ0ABC,M3.5.0", "XYZ0ABC,M3.5.0,M10.5.0,", "XYZ25",
            "XYZ1:60",
            "XYZ0ABC,M0.1.0,M10.5.0", "XYZ0ABC,M13.1.0,M10.5.0", "XYZ0ABC,M3.0.0,M10.5.0", "XYZ0ABC,M3.6.0,M10.5.0",
            "XYZ0ABC,M3.5.7,M10.5.0", "XYZ0ABC,J0,J100", "XYZ0ABC,J366,J100", "XYZ0ABC,366,100", "XYZ0ABC,J1/168,J100",
            "XYZ0ABC,J1/2:60,J100", "XYZ-99999999999999999999", "XYZ0ABC,J1/0001,J100", "XYZ0 ", "日本語-9",
        ]
    )
    func footers(footer: String) throws {
        #expect(try Self.fault(TZifFile(footer: footer).bytes) == .footer)
    }

    @Test("a truncated file is rejected, wherever it ends")
    func truncated() throws {
        let whole = try Zones.bytes("Europe/Oslo")
        #expect(try Self.fault([]) == .notTZif)
        #expect(try Self.fault(Array("TZjf".utf8) + whole.dropFirst(4)) == .notTZif)
        for length in 0..<whole.count { #expect(try Self.fault(Array(whole.prefix(length))) != nil) }
    }

    @Test("a rule may give daylight time for the whole year, or never")
    func degenerateRules() throws {
        let always = try Self.zone(TZifFile(footer: "EST5EDT,0/0,J365/25"))
        let never = try Self.zone(TZifFile(footer: "EST5EDT,J100/1,J100/2"))
        for text in ["2026-01-01T05:00:00Z", "2026-12-31T23:59:59Z", "2027-01-01T04:00:00Z", "2028-07-01T00:00:00Z"] {
            #expect(try always.offset(at: at(text)) == -4 * Self.hour)
            #expect(try never.offset(at: at(text)) == -5 * Self.hour)
            #expect(try always.transition(after: at(text)) == nil)
            #expect(try never.transition(after: at(text)) == nil)
        }
    }

    @Test("a change only in leap years is found eight years ahead")
    func leapDays() throws {
        // From day 59, 29 February or else 1 March, to the first hour of 1 March: no change if both are one instant.
        let zone = try Self.zone(TZifFile(footer: "XST0XDT,59/0,J60/1"))
        let change = try #require(zone.transition(after: at("2096-03-01T00:00:00Z")))
        #expect(try change.instant == at("2104-02-29T00:00:00Z"))
        #expect(try zone.transition(after: change.instant)?.instant == at("2104-03-01T00:00:00Z"))
    }

    private func seconds(_ seconds: Int) -> Timestamp {
        Timestamp(clamping: Int64(seconds) * 1_000_000)
    }
}
