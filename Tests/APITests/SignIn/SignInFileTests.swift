import BellhopJSON
import Foundation
import Testing

@testable import API

@Suite("File of issuers")
struct SignInFileTests {
    /// A folder with a file of issuers and a key set, which is removed afterwards.
    private static func read(_ text: String, _ others: [String: [UInt8]] = [:]) throws -> Result<
        [ConfiguredIssuer], DocumentFaults
    > {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = others.merging(["sign-in.json5": Array(text.utf8)]) { $1 }
        for (name, content) in files { try Data(content).write(to: folder.appendingPathComponent(name)) }
        return SignInConfiguration.issuers(of: folder.appendingPathComponent("sign-in.json5").path)
    }

    private static func places(_ result: Result<[ConfiguredIssuer], DocumentFaults>) -> [String] {
        guard case .failure(let faults) = result else { return [] }
        return faults.faults.map { "\(URL(fileURLWithPath: $0.file).lastPathComponent) \($0.pointer.text)" }
    }

    @Test("keys are read from a file in the same folder or fetched from a URL, and members have defaults")
    func entries() throws {
        let issuer = try TestIssuer()
        let text = """
            {issuers: [
                {issuer: "https://a.example/auth", audience: "authenticated", app: "padel",  // a comment
                 keys: "https://a.example/keys?p=1", caFile: "ca.pem", leeway: "5s"},
                {issuer: "https://b.example/", audience: ["x", "y"], keys: "keys.json", user: "/oid",
                 appClaim: "/https:~1~1example.com~1app"},
            ]}
            """
        let authorities = Array("-----BEGIN CERTIFICATE-----\n".utf8)
        let found = try Self.read(text, ["keys.json": try issuer.keySet(), "ca.pem": authorities]).get()
        let (first, second) = (found[0].rules, found[1].rules)
        #expect(first.app?.text == "padel" && first.leeway == .seconds(5) && first.audiences == ["authenticated"])
        #expect(first.user.text == "/sub" && first.appClaim.text == "/app")
        #expect(second.app == nil && second.audiences == ["x", "y"] && second.leeway == .seconds(60))
        #expect(second.user.text == "/oid" && second.appClaim.steps == ["https://example.com/app"])
        guard case .remote(let source) = found[0].keys, case .file(let keys) = found[1].keys else {
            Issue.record("the keys come from other places")
            return
        }
        #expect(source.url == "https://a.example/keys?p=1" && source.authoritiesFile?.hasSuffix("/ca.pem") == true)
        #expect(keys.count == 1)
    }

    @Test("every fault of the file and of its key sets is reported together")
    func faults() throws {
        let text = """
            {issuers: [
                {issuer: "", audience: [], keys: "http://a.example/keys", app: "Padel!", user: "sub", appClaim: "",
                 leeway: "6m"},
                {issuer: "https://b.example", audience: "x", keys: "broken.json", caFile: "ca.pem"},
                {issuer: "https://c.example", audience: "x", keys: "https://user@c.example/keys", tenant: 1},
                {issuer: "https://d.example", keys: "nowhere.json"},
            ], issuer: []}
            """
        let broken = Array(#"{"keys":[{"kty":"EC","crv":"P-521","kid":"a"}]}"#.utf8)
        let places = Self.places(try Self.read(text, ["broken.json": broken, "ca.pem": Array("no".utf8)]))
        let expected = [
            "/issuer", "/issuers/0/issuer", "/issuers/0/audience", "/issuers/0/keys", "/issuers/0/app",
            "/issuers/0/user", "/issuers/0/appClaim", "/issuers/0/leeway", "/issuers/1/caFile", "/issuers/2/keys",
            "/issuers/2/tenant", "/issuers/3/audience", "/issuers/3/keys",
        ]
        let missing = expected.filter { !places.contains("sign-in.json5 \($0)") }
        #expect(missing.isEmpty, "\(missing)")
        #expect(places.contains("broken.json /keys/0/alg"))
    }

    @Test("two entries that accept the same tokens are a fault, and so is a file without entries")
    func ambiguous() throws {
        let entry = #"{issuer: "https://a.example", audience: ["x", "y"], keys: "https://a.example/keys"}"#
        let other = #"{issuer: "https://a.example", audience: "y", keys: "https://a.example/keys", app: "drop"}"#
        let doubled = Self.places(try Self.read("{issuers: [\(entry), \(other)]}"))
        #expect(doubled == ["sign-in.json5 /issuers/1/issuer"])
        for text in ["{issuers: []}", "{}"] {
            let places = Self.places(try Self.read(text))
            #expect(places == ["sign-in.json5 /issuers"])
        }
        let distinct = other.replacingOccurrences(of: #""y""#, with: #""z""#)
        let found = try Self.read("{issuers: [\(entry), \(distinct)]}").get()
        #expect(found.count == 2)
    }

    @Test("the number of entries is limited")
    func limit() throws {
        let entries = (0...SignInFile.mostIssuers).map { number in
            #"{issuer: "https://\#(number).example", audience: "x", keys: "https://a.example/keys"}"#
        }
        let places = Self.places(try Self.read("{issuers: [\(entries.joined(separator: ","))]}"))
        #expect(places == ["sign-in.json5 /issuers"])
    }

    @Test(
        "keys are fetched only from https URLs with a host",
        arguments: [
            ("https://a.example/keys", true), ("https://a.example:8443/keys?x=@", true), ("http://a.example/k", false),
            ("https:///keys", false), ("https://:443/keys", false), ("https://a@b.example/keys", false),
            ("https://a.example/keys#x", false), ("https://a.example/ke ys", false), ("ftp://a.example/keys", false),
        ]
    )
    func urls(url: String, isAccepted: Bool) {
        #expect(RemoteKeySource.isSecure(url) == isAccepted)
    }
}
