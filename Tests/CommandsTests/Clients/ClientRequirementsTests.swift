import CommandLineSupport
import Foundation
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop check-config --client")
struct ClientRequirementsTests {
    /// The options of the catalogues in the repository.
    private func prompt() -> Prompt { Prompt().with("BELLHOP_CATALOGS", Checkout.file("deploy/catalogs").path) }

    @Test("the channels of an app are listed, each once with its types")
    func channels() async {
        let answer = await prompt().run("check-config", "--client", "drop")
        #expect(answer.code == .done, "\(answer.complaints)")
        let lines = answer.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines.contains("transactions default - - transaction_complete, qr_payment"), "\(answer.output)")
        #expect(lines.contains("security high - - security"), "\(answer.output)")
        #expect(lines.contains("schemes drop://"), "\(answer.output)")
        #expect(lines.contains("badge set by pushes to ios"), "\(answer.output)")
    }

    @Test("an app that displays its notifications itself, and a service extension, are named")
    func selfDrawn() async {
        let answer = await prompt().run("check-config", "--client", "safe")
        #expect(answer.output.contains("The app displays these itself, from data: all"), "\(answer.output)")
        #expect(answer.output.contains("a notification service extension may change"), "\(answer.output)")
    }

    @Test("the JSON answer has the same for programs")
    func json() async throws {
        let answer = await prompt().run("check-config", "--client", "drop", "--json")
        let value = try #require(try JSONSerialization.jsonObject(with: Data(answer.output.utf8)) as? [String: Any])
        #expect(value["app"] as? String == "drop")
        #expect(value["schemes"] as? [String] == ["drop"])
        let channels = try #require(value["channels"] as? [[String: Any]])
        let first = try #require(channels.first)
        #expect(first["channel"] as? String == "transactions")
        #expect(first["importance"] as? String == "default")
        #expect(first["types"] as? [String] == ["transaction_complete", "qr_payment"])
        let listed = Set(channels.flatMap { $0["types"] as? [String] ?? [] })
        #expect(listed.count == 6)
    }

    @Test("an unknown app is refused with the nearest one")
    func unknown() async {
        let answer = await prompt().run("check-config", "--client", "dorp")
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains("no catalogue describes dorp"), "\(answer.complaints)")
        #expect(answer.complaints.contains("drop"), "\(answer.complaints)")
    }
}
