import API
import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop token and its keys")
struct TokenCommandTests {
    @Test("a token of a new key is accepted by its key set, with the configured audience and issuer")
    func accepted() async throws {
        try await CommandFolder.with { folder in
            let (key, set) = (
                folder.appendingPathComponent("key.pem").path, folder.appendingPathComponent("set.json").path
            )
            #expect(await Prompt().run("keys", "tokens", "--out", key, "--set", set).code == .done)
            let rights = try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int
            #expect(rights == 0o600)
            let prompt = Prompt(environment: ["BELLHOP_JWT_AUDIENCE": "inbox", "BELLHOP_JWT_ISSUER": "me"])
            let made = await prompt.run("token", "--key", key, "--app", "drop", "--user", "ada", "--valid", "1h")
            #expect(made.code == .done)
            let keys = try TokenKeySet.read(file: set).get()
            let now = Timestamp(clamping: SystemTime().now().microseconds)
            let token = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
            var rules = TokenRules(issuer: "me", audiences: ["inbox"])
            rules.leeway = .zero
            let signedIn = try TrustedIssuers([.init(rules, keys: keys)]).check(token, at: now).get()
            #expect(signedIn.app.text == "drop" && signedIn.user.text == "ada")
            #expect(
                String(decoding: try Data(contentsOf: URL(fileURLWithPath: set)), as: UTF8.self).contains("\"d\"")
                    == false
            )
        }
    }

    @Test("existing files are kept, and an invalid key is reported")
    func refused() async throws {
        try await CommandFolder.with { folder in
            let file = folder.appendingPathComponent("mine").path
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let kept = await Prompt().run("keys", "tokens", "--out", file, "--set", file + ".set")
            #expect(kept.code == .badInput)
            let spoilt = await Prompt().run("keys", "tokens", "--out", file + ".key", "--set", file)
            #expect(spoilt.code == .badInput)
            #expect(spoilt.complaints.contains("adding a key to \(file)"), "\(spoilt.complaints)")
            #expect(!FileManager.default.fileExists(atPath: file + ".key"))
            let same = folder.appendingPathComponent("new").path
            let both = await Prompt().run("keys", "tokens", "--out", same, "--set", "\(folder.path)/./new")
            #expect(both.code == .usage && both.complaints.contains("name the same file"), "\(both.complaints)")
            #expect(!FileManager.default.fileExists(atPath: same))
            let none = await Prompt().run("token", "--key", file, "--app", "drop", "--user", "ada")
            #expect(none.code == .configuration)
            #expect(await Prompt().run("token", "--key", file, "--app", "drop").code == .usage)
        }
    }

    @Test("a second key is added to the set, so that tokens of both are accepted during a change")
    func second() async throws {
        try await CommandFolder.with { folder in
            let set = folder.appendingPathComponent("set.json").path
            for name in ["old", "new"] {
                let key = folder.appendingPathComponent(name).path
                #expect(await Prompt().run("keys", "tokens", "--out", key, "--set", set).code == .done)
            }
            let checked = await Prompt().with("BELLHOP_JWT_KEYS", set).run("check-config")
            #expect(checked.code == .done && checked.output.contains("token keys: 2 keys"), "\(checked.output)")
        }
    }

    @Test("check-config shows the number of token keys and the faults of the set")
    func checked() async throws {
        try await CommandFolder.with { folder in
            let (key, set) = (
                folder.appendingPathComponent("key.pem").path, folder.appendingPathComponent("set.json").path
            )
            _ = await Prompt().run("keys", "tokens", "--out", key, "--set", set)
            let good = await Prompt().with("BELLHOP_JWT_KEYS", set).run("check-config")
            #expect(good.code == .done && good.output.contains("token keys: 1 key"))
            try Data(#"{"keys":[{"kty":"oct","kid":"a","alg":"HS256","k":"c2VjcmV0"}]}"#.utf8)
                .write(to: URL(fileURLWithPath: set))
            let bad = await Prompt().with("BELLHOP_JWT_KEYS", set).run("check-config")
            #expect(bad.code == .configuration)
            #expect(bad.complaints.contains("/keys/0/k"))
        }
    }
}
