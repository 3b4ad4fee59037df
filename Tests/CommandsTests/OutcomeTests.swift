import CommandLineSupport
import Testing

@testable import Commands

@Suite("The outcome that an error states")
struct OutcomeTests {
    private static let prompt = Prompt(environment: ["BELLHOP_DATABASE_URL": "postgres://127.0.0.1:1/none"])

    @Test(
        "without a database, a reading command does not state that something did not happen",
        arguments: [
            "hold", "fanouts", "retries", "providers", "explain --app drop --user ada", "dead-letters list",
            "dead-letters show l1", "dead-letters replays", "dead-letters audit", "migrate --check",
        ]
    )
    func reading(line: String) async {
        let answer = await Self.prompt.run(line.split(separator: " ").map(String.init))
        #expect(answer.code == .unavailable)
        let said = answer.output + answer.complaints
        #expect(said.contains("connect") && !said.contains("happen"), "\(said)")
    }

    @Test(
        "without a database, an act states that it did not happen",
        arguments: [
            "hold release 1", "fanouts pause 1 --yes", "retries bring-forward --app drop --provider fcm --yes",
            "dead-letters discard l1 --yes", "dead-letters pause 1", "dead-letters show l1 --reveal", "migrate",
        ]
    )
    func act(line: String) async {
        let words = line.split(separator: " ").map(String.init)
        let answer = await Self.prompt.run(words + (words == ["migrate"] ? [] : ["--because", "test"]))
        #expect(answer.code == .unavailable)
        #expect(answer.complaints.contains("It did not happen; bring the database back"), "\(answer.complaints)")
    }
}
