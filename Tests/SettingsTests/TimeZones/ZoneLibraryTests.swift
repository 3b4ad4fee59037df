import BellhopRules
import Foundation
import Settings
import Testing

@Suite("The tz database of the machine")
struct ZoneLibraryTests {
    private static func name(_ text: String) throws -> TimeZoneName {
        try #require(TimeZoneName(validating: text))
    }

    /// Runs a body with a database that has one zone, next to a file outside of it.
    private static func withLibrary(_ body: (ZoneLibrary, URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-zones-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = folder.appendingPathComponent("zoneinfo")
        try FileManager.default.createDirectory(
            at: database.appendingPathComponent("Asia"),
            withIntermediateDirectories: true
        )
        try zone.write(to: database.appendingPathComponent("Asia/Kolkata"))
        try zone.write(to: folder.appendingPathComponent("Outside"))
        try body(ZoneLibrary(folder: database.path), database)
    }

    /// The bytes of a zone that is always at +05:30.
    private static var zone: Data {
        let header = Array("TZif2".utf8) + Array(repeating: 0, count: 15)
        let counts: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4]
        let block = header + counts + [0, 0, 0x4D, 0x58, 0, 0] + Array("IST\0".utf8)
        return Data(block + block + Array("\nIST-5:30\n".utf8))
    }

    @Test("the machine's own database answers, again from the cache")
    func machine() throws {
        let library = ZoneLibrary(environment: [:])
        let instant = try #require(Timestamp(validating: "2026-07-01T12:00:00Z"))
        for _ in 0..<2 {
            let zone = try #require(library[Self.name("Europe/Oslo")])
            #expect(zone.name.text == "Europe/Oslo")
            #expect(zone.offset(at: instant) == 7200)
            #expect(try library[Self.name("Europe/Atlantis")] == nil)
        }
        #expect(library.isThere)
    }

    @Test("TZDIR defines the database's folder, and an empty value does not")
    func folder() throws {
        #expect(ZoneLibrary(environment: [:]).folder == "/usr/share/zoneinfo")
        #expect(ZoneLibrary(environment: ["TZDIR": ""]).folder == "/usr/share/zoneinfo")
        let elsewhere = ZoneLibrary(environment: ["TZDIR": "/nonexistent"])
        #expect(!elsewhere.isThere)
        #expect(try elsewhere[Self.name("Europe/Oslo")] == nil)
    }

    @Test(
        "a name without a zone inside the database gives nil",
        arguments: [
            "Asia", "Asia/", "Asia//Kolkata", "Kolkata", "Asia/Kolkata/", "localtime", "posixrules", "Garbage", "Empty",
            "Huge", "Leaving", "Deep/Outside",
        ]
    )
    func nothing(name: String) throws {
        try Self.withLibrary { library, database in
            try Data("nothing".utf8).write(to: database.appendingPathComponent("Garbage"))
            try Data().write(to: database.appendingPathComponent("Empty"))
            try (Self.zone + Data(count: 100_000)).write(to: database.appendingPathComponent("Huge"))
            for name in ["localtime", "posixrules"] { try Self.zone.write(to: database.appendingPathComponent(name)) }
            let files = FileManager.default
            try files.createSymbolicLink(
                atPath: database.appendingPathComponent("Leaving").path,
                withDestinationPath: "../Outside"
            )
            try files.createSymbolicLink(
                atPath: database.appendingPathComponent("Deep").path,
                withDestinationPath: ".."
            )
            let (missing, present) = (try Self.name(name), try Self.name("Asia/Kolkata"))
            #expect(library[missing] == nil)
            #expect(library[present] != nil)
        }
    }

    @Test("a link inside the database is followed")
    func link() throws {
        try Self.withLibrary { library, database in
            try FileManager.default.createSymbolicLink(
                atPath: database.appendingPathComponent("India").path,
                withDestinationPath: "Asia/Kolkata"
            )
            let zone = library[try Self.name("India")]
            #expect(zone?.name.text == "India")
        }
    }

    @Test("a former name without a file is found by its present name")
    func formerName() throws {
        try Self.withLibrary { library, database in
            let source =
                """
                # version 2026a
                Z Asia/Kolkata 5:30 - IST
                L Asia/Kolkata Asia/Calcutta
                L Asia/Calcutta Old/Bengal
                L Asia/Kolkata
                L ../Outside Evil

                """
            try Data(source.utf8).write(to: database.appendingPathComponent("tzdata.zi"))
            let instant = try #require(Timestamp(validating: "2026-07-01T12:00:00Z"))
            for name in ["Asia/Calcutta", "Old/Bengal"] {
                let zone = library[try Self.name(name)]
                #expect(zone?.name.text == name)
                #expect(zone?.offset(at: instant) == 19_800)
            }
            let evil = try Self.name("Evil")
            #expect(library[evil] == nil)
        }
    }

    @Test("names beyond the size of the cache are still answered")
    func many() throws {
        try Self.withLibrary { library, _ in
            for number in 0..<5_000 {
                let missing = try Self.name("Nowhere/N\(number)")
                #expect(library[missing] == nil)
            }
            let present = try Self.name("Asia/Kolkata")
            #expect(library[present] != nil)
        }
    }
}
