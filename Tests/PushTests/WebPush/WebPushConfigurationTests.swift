import BellhopRules
import Cryptography
import Foundation
import Push
import Testing

@Suite("Web Push in the providers' file")
struct WebPushConfigurationTests {
    private func read(_ section: String) throws -> Result<ProviderConfiguration.WebPush, DocumentFaults> {
        let folder = try TemporaryFolder()
        _ = try folder.write("p256.pem", Array(TestKey.ellipticPEM.utf8))
        _ = try folder.write("raw.txt", Array("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94\n".utf8))
        _ = try folder.write("rsa.pem", Array(TestKey.pem.utf8))
        _ = try folder.write("ca.pem", Array("-----BEGIN CERTIFICATE-----\n".utf8))
        let file = try folder.write("providers.json5", Array("{ padel: { webpush: { \(section) } } }".utf8))
        let padel = try #require(AppID(validating: "padel"))
        do {
            return .success(try #require(ProviderConfiguration.read(file: file).apps[padel]?.webPush))
        } catch let faults as DocumentFaults {
            return .failure(faults)
        }
    }

    private func pointers(_ section: String) throws -> [String] {
        switch try read(section) {
        case .success: []
        case .failure(let faults): faults.faults.map(\.pointer.text)
        }
    }

    private static let keys = #"keys: [{id: "2026", privateKeyFile: "p256.pem"}]"#
    private static let subject = #"subject: "mailto:ops@example.com""#

    @Test("omitted members have their defaults: the known services, port 443, public addresses")
    func defaults() throws {
        let webPush = try read("\(Self.subject), \(Self.keys)").get()
        #expect(webPush.hosts == .known && webPush.hosts.port == 443)
        #expect(webPush.addressPolicy == .publicAddressesOnly)
        #expect(webPush.reach.authoritiesFile == nil)
        #expect(webPush.reach.connections == 2 && webPush.reach.window == 500)
        #expect(webPush.keys.usual.id == "2026")
        #expect(webPush.subject == "mailto:ops@example.com")
    }

    @Test("every member can be set")
    func everything() throws {
        let webPush = try read(
            """
            subject: "https://example.com/contact", defaultKey: "old",
            keys: [{id: "new", privateKeyFile: "p256.pem"}, {id: "old", privateKeyFile: "raw.txt"}],
            allowedHosts: ["localhost", "*.push.example"], endpointPort: 8443, allowPrivateAddresses: true,
            caFile: "ca.pem", connections: 3, window: 40,
            """
        ).get()
        #expect(webPush.hosts == PushServiceHosts(["localhost", "*.push.example"], port: 8443))
        #expect(webPush.addressPolicy == .any)
        #expect(webPush.reach.authoritiesFile?.hasSuffix("/ca.pem") == true)
        #expect(webPush.reach.connections == 3 && webPush.reach.window == 40)
        #expect(webPush.keys.all.map(\.id) == ["new", "old"])
        #expect(webPush.keys.usual.publicKey == Browsers.point)
        #expect(webPush.keys.key(named: "new")?.id == "new")
        #expect(webPush.keys.key(named: nil)?.id == "old")
        #expect(webPush.keys.key(named: "none") == nil)
    }

    /// Returns a valid section with these members added.
    private static func sound(_ more: String) -> String { [subject, keys, more].joined(separator: ", ") }

    /// Returns a section with these keys.
    private static func with(keys: String) -> String { [subject, "keys: \(keys)"].joined(separator: ", ") }

    static let wrong: [(String, [String])] = [
        (keys, ["subject"]), (subject, ["keys"]), (with(keys: "[]"), ["keys"]), (with(keys: "{}"), ["keys"]),
        (with(keys: "[7]"), ["keys/0"]), (with(keys: "[{}]"), ["keys/0/id", "keys/0/privateKeyFile"]),
        (with(keys: #"[{id: "a b", privateKeyFile: "p256.pem"}]"#), ["keys/0/id"]),
        (with(keys: #"[{id: "a", privateKeyFile: "none.pem"}]"#), ["keys/0/privateKeyFile"]),
        (with(keys: #"[{id: "a", privateKeyFile: "rsa.pem"}]"#), ["keys/0/privateKeyFile"]),
        (with(keys: #"[{id: "a", privateKeyFile: "ca.pem"}]"#), ["keys/0/privateKeyFile"]),
        (
            with(keys: #"[{id: "a", privateKeyFile: "p256.pem"}, {id: "a", privateKeyFile: "raw.txt"}]"#),
            ["keys/1/id"]
        ),
        (sound(#"defaultKey: "1999""#), ["defaultKey"]), (sound("allowedHosts: []"), ["allowedHosts"]),
        (sound(#"allowedHosts: ["*"]"#), ["allowedHosts"]),
        (sound(#"allowedHosts: ["a.example", 1]"#), ["allowedHosts"]),
        (sound("endpointPort: 0"), ["endpointPort"]), (sound("allowPrivateAddresses: 1"), ["allowPrivateAddresses"]),
        (sound("window: 0"), ["window"]), (sound("hosts: []"), ["hosts"]),
    ]

    @Test("a fault reports its place", arguments: wrong)
    func faults(_ section: String, _ places: [String]) throws {
        #expect(try pointers(section).sorted() == places.map { "/padel/webpush/\($0)" }.sorted())
    }

    @Test(
        "a subject that is not a reachable address in Apple's form is rejected",
        arguments: [
            "", "ops@example.com", "mailto:ops@localhost", "mailto:<ops@example.com>", "mailto: ops@example.com",
            "mailto:ops", "https://localhost", "http://example.com", "https://",
        ]
    )
    func subjects(_ subject: String) throws {
        #expect(try pointers("subject: \"\(subject)\", \(Self.keys)") == ["/padel/webpush/subject"])
    }

    @Test("no fault shows a part of a key")
    func noSecrets() throws {
        guard case .failure(let faults) = try read(#"\#(Self.subject), keys: [{id: "a", privateKeyFile: "rsa.pem"}]"#)
        else {
            Issue.record("an RSA key signs nothing here")
            return
        }
        let lines = TestKey.pem.split(separator: "\n").filter { !$0.hasPrefix("-") }
        #expect(!lines.contains { "\(faults)".contains($0) })
    }
}
