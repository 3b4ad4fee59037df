import API
import BellhopRules
import CommandLineSupport
import Cryptography
import Foundation
import ServiceRuntime
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop keys publisher")
struct KeysCommandPublisherTests {
    private func withFile(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("publishers")).path
        defer { unlink(path) }
        try await body(path)
    }

    private func keys(_ words: String...) async -> Prompt.Answer { await Prompt().run(["keys", "publisher"] + words) }

    private func names(_ file: String) throws -> [String] {
        try PublisherFile.read(file: file).get().accounts.map(\.name)
    }

    @Test("the command prints the token once with an entry that holds its hash, also without a file")
    func prints() async throws {
        let answer = await keys("--name", "shop", "--app", "drop", "--types", "security,follow.added", "--json")
        #expect(answer.code == .done)
        let printed = try JSONParser().parse(Array(answer.output.utf8)).get()
        let token = try #require(printed["token"]?.string)
        let entry = try #require(printed["entry"])
        #expect(entry["hash"]?.string == Base64URL.encode(BearerToken.hash(of: token)))
        #expect(entry["name"] == "shop" && entry["app"] == "drop" && entry["types"] == ["security", "follow.added"])
        let text = await keys("--name", "shop", "--app", "drop").output
        #expect(text.contains("shown this once: bhpub_") && text.contains("\"name\":\"shop\""))
    }

    @Test("publishers are added to a file, replaced, listed and revoked")
    func file() async throws {
        try await withFile { file in
            for name in ["shop", "till", "shop"] {
                let answer = await keys("--name", name, "--app", "drop", "--set", file)
                #expect(answer.code == .done && answer.output.contains("for BELLHOP_PUBLISHERS"))
            }
            let added = try names(file)
            #expect(added == ["till", "shop"])
            let list = await keys("list", "--set", file)
            #expect(list.output.contains("till  drop  all event types"))
            let json = await keys("list", "--set", file, "--json").output
            #expect(json.contains("\"name\":\"shop\"") && !json.contains("hash"))
            #expect(await keys("revoke", "--name", "till", "--set", file).code == .done)
            let left = try names(file)
            #expect(left == ["shop"])
            let again = await keys("revoke", "--name", "till", "--set", file)
            #expect(again.code == .answerIsNo && again.complaints.contains("no publisher of this name"))
            #expect(await keys("revoke", "--name", "shop", "--set", file).code == .done)
            #expect(await keys("list", "--set", file).output.contains("no publishers"))
        }
    }

    @Test("a missing name, app or file and invalid types are usage errors")
    func usage() async throws {
        let calls: [[String]] = [
            [], ["--name", "shop"], ["--app", "drop"], ["--name", "two words", "--app", "drop"],
            ["--name", "shop", "--app", "drop", "--types", "a,,b"],
            ["--name", "shop", "--app", "drop", "--types", "a,a"],
            ["list"], ["revoke", "--name", "shop"], ["unknown"],
        ]
        for words in calls {
            let answer = await Prompt().run(["keys", "publisher"] + words)
            #expect(answer.code == .usage, "\(words)")
        }
    }

    @Test("check-config lists publishers, and warns of an app or a type that no catalogue has")
    func checked() async throws {
        try await withFile { file in
            for (name, app, types) in [
                ("shop", "drop", "security"), ("till", "drop", "nosuch"), ("lost", "nowhere", "x"),
            ] {
                _ = await keys("--name", name, "--app", app, "--types", types, "--set", file)
            }
            let environment = [
                "BELLHOP_PUBLISHERS": file,
                "BELLHOP_CATALOGS": Checkout.file("deploy/catalogs").path,
            ]
            let answer = await Prompt(environment: environment).run("check-config")
            #expect(answer.code == .done)
            #expect(answer.output.contains("publishers: shop (drop), till (drop), lost (nowhere)"))
            #expect(answer.output.contains("drop has no type nosuch, which till may publish"))
            #expect(answer.output.contains("no catalogue describes the app nowhere of lost"))
            #expect(!answer.output.contains("which shop may publish"))
            try Data("{publishers: 7}".utf8).write(to: URL(fileURLWithPath: file))
            let broken = await Prompt(environment: environment).run("check-config")
            #expect(broken.code == .configuration)
        }
    }
}
