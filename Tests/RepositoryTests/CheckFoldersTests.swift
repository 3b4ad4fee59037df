import TestSupport
import Testing

/// The check that the folders of a target depend on each other in one direction, and that tests have the folders of
/// their target, on a target made for it.
@Suite("deploy/check-folders", .limitedConcurrency, .timeLimit(.ofTest))
struct CheckFoldersTests {
    private static func check(_ files: [String: String]) throws -> (output: String, code: Int32) {
        try CheckedCheckout.run(
            "deploy/check-folders",
            on: files.reduce(into: [:]) { $0["Sources/Room/\($1.key)"] = $1.value }
        )
    }

    private static let below = "struct Stone {}\n"
    private static let above = "struct House {\n    let stones: [Stone]\n}\n"

    @Test("folders that depend in one direction pass, whatever the names in comments, texts and nested types are")
    func oneWay() throws {
        let talkative = Self.below + "// of a House\nlet text = \"House\"\nenum Part { struct House {} }\n"
        let result = try Self.check(["Below/Stone.swift": talkative, "Above/House.swift": Self.above])
        #expect(result.code == 0, "\(result.output)")
        #expect(result.output.isEmpty)
    }

    @Test("a cycle fails and is named with its types", arguments: ["Below/Stone.swift", "Stone.swift"])
    func circle(place: String) throws {
        let circular = Self.below + "extension House {}\n"
        let result = try Self.check([place: circular, "Above/House.swift": Self.above])
        #expect(result.code == 1)
        #expect(result.output.contains("Room"))
        #expect(result.output.contains("names House of Above"))
        #expect(result.output.contains("Above names Stone of "))
    }

    /// A target with one folder, and a test target with this folder.
    private static func tests(_ target: String, in folder: String) throws -> (output: String, code: Int32) {
        try CheckedCheckout.run(
            "deploy/check-folders",
            on: [
                "Sources/Room/Below/Stone.swift": below, "Tests/\(target)/\(folder)/StoneTests.swift": below,
                "Tests/\(target)/OtherTests.swift": below,
            ]
        )
    }

    @Test(
        "tests in a folder of their target pass, and so does each listed exception",
        arguments: [
            ("RoomTests", "Below"), ("RoomTests", "Fixtures"), ("RoomTests", "Fixtures/Old"), ("ProofTests", "Stage"),
        ] as [(String, String)]
    )
    func mirrored(target: String, folder: String) throws {
        let result = try Self.tests(target, in: folder)
        #expect(result.code == 0, "\(result.output)")
    }

    @Test(
        "tests without a target or a folder of Sources fail and are named",
        arguments: [
            ("RoomTests", "Above", "RoomTests   FAILED: Sources/Room has no folder Above"),
            ("RoomTests", "Below/Deep", "RoomTests   FAILED: Sources/Room has no folder Below/Deep"),
            ("HouseTests", "Below", "HouseTests  FAILED: Sources has no folder House"),
        ] as [(String, String, String)]
    )
    func unmatched(target: String, folder: String, line: String) throws {
        let result = try Self.tests(target, in: folder)
        #expect(result.code == 1)
        #expect(result.output == line + "\n")
    }
}
