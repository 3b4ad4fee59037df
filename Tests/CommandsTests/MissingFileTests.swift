import CommandLineSupport
import Testing

@testable import Commands

@Suite("Missing files of settings")
struct MissingFileTests {
    private static let files = ["BELLHOP_OPERATORS", "BELLHOP_JWT_KEYS", "BELLHOP_SIGN_IN", "BELLHOP_PUBLISHERS"]

    private static let prompt = Prompt(
        environment: Dictionary(uniqueKeysWithValues: files.map { ($0, "/nowhere/file") })
    )

    @Test(
        "a command ignores the missing file of a setting that it does not read",
        arguments: [
            ["migrate"], ["status"], ["worker"], ["scheduler"], ["fanouts"], ["pool", "--workers", "1"],
            ["token", "--key", "/nowhere/key", "--app", "drop", "--user", "u1"], ["keys", "vapid"],
            ["sandbox", "--listen", "nowhere"],
        ]
    )
    func unread(words: [String]) async {
        let answer = await Self.prompt.run(words)
        for name in Self.files { #expect(!answer.complaints.contains(name), "\(answer.complaints)") }
    }

    @Test(
        "a command reports the missing file of a setting that it reads",
        arguments: [
            ["console"], ["up"], ["check-config"], ["api"], ["pool", "--workers", "1", "--api"],
        ]
    )
    func read(words: [String]) async {
        let names =
            switch words[0] {
            case "console": ["BELLHOP_OPERATORS"]
            case "up", "check-config": Self.files
            default: Self.files.filter { $0 != "BELLHOP_OPERATORS" }
            }
        let answer = await Self.prompt.run(words)
        #expect(answer.code == .configuration)
        for name in Self.files {
            let isNamed = answer.complaints.contains("\(name) (environment): \"/nowhere/file\" does not fit")
            #expect(isNamed == names.contains(name), "\(name) in \(answer.complaints)")
        }
    }

    @Test("the folder of catalogues is read by the workers, and not by a migration")
    func catalogs() async {
        let prompt = Prompt(environment: ["BELLHOP_CATALOGS": "/nowhere"])
        let worker = await prompt.run("worker")
        #expect(worker.complaints.contains("BELLHOP_CATALOGS (environment): \"/nowhere\" does not fit"))
        let migration = await prompt.run("migrate")
        #expect(!migration.complaints.contains("BELLHOP_CATALOGS"), "\(migration.complaints)")
    }
}
