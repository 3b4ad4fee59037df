import BellhopRules
import Cryptography
import HTTPTransfer
import Push
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("APNs in the providers' file")
struct APNsConfigurationTests {
    private static let whole = #"key: "key.p8", keyID: "KEY1234567", teamID: "TEAM123456", topic: "com.example.drop""#

    private func read(_ text: String) throws -> ProviderConfiguration {
        let folder = try TemporaryFolder()
        _ = try folder.write("key.p8", Array(TestKey.ellipticPEM.utf8))
        _ = try folder.write("rsa.p8", Array(TestKey.pem.utf8))
        _ = try folder.write("empty.p8", [])
        _ = try folder.write("ca.pem", Array("-----BEGIN CERTIFICATE-----\n".utf8))
        return try ProviderConfiguration.read(file: try folder.write("providers.json5", Array(text.utf8)))
    }

    private func faults(_ settings: String) throws -> [String] {
        do {
            _ = try read("{ drop: { apns: { \(settings) } } }")
            return []
        } catch let error as DocumentFaults {
            return error.faults.map { "\($0.pointer.text): \($0.message)" }
        }
    }

    private func app(_ name: String) throws -> AppID { try #require(AppID(validating: name)) }

    @Test("a complete section is read, and a minimal one has the defaults")
    func sound() throws {
        let configuration = try read(
            """
            {
              drop: { apns: { \(Self.whole), endpoint: "https://127.0.0.1:1/", sandboxEndpoint: "https://127.0.0.1:2",
                              caFile: "ca.pem", connections: 3, window: 40 } },
              safe: { apns: { \(Self.whole) } },
            }
            """
        )
        let drop = try #require(configuration.apps[app("drop")]?.apns)
        #expect(drop.topic == "com.example.drop")
        #expect(drop.key.keyID == "KEY1234567" && drop.key.teamID == "TEAM123456")
        #expect(drop.endpoint == "https://127.0.0.1:1" && drop.sandboxEndpoint == "https://127.0.0.1:2")
        #expect(drop.reach.authoritiesFile?.hasSuffix("/ca.pem") == true)
        #expect(drop.reach.connections == 3 && drop.reach.window == 40)
        let safe = try #require(configuration.apps[app("safe")]?.apns)
        #expect(safe.endpoint == "https://api.push.apple.com")
        #expect(safe.sandboxEndpoint == "https://api.sandbox.push.apple.com")
        #expect(safe.reach.connections == 5 && safe.reach.window == 500 && safe.reach.authoritiesFile == nil)
        #expect(safe.key.fingerprint == drop.key.fingerprint)
    }

    @Test("all missing members are reported together, each with its expected value")
    func missing() throws {
        let found = try faults("")
        let keys = found.map { $0.replacing("/drop/apns/", with: "").prefix { $0 != ":" } }
        #expect(keys.sorted() == ["key", "keyID", "teamID", "topic"])
        #expect(found.allSatisfy { $0.hasSuffix("found no value") })
        #expect(found.contains { $0.contains(".p8") })
    }

    @Test(
        "a fault reports its place and its reason",
        arguments: [
            ("key", #""none.p8""#, "does not exist"), ("key", #""empty.p8""#, "no private key"),
            ("key", #""rsa.p8""#, "P-256"), ("key", #""ca.pem""#, "no private key"), ("key", "7", "path of a file"),
            ("keyID", #""key1234567""#, "ten capitals"), ("keyID", #""KEY""#, "ten capitals"),
            ("teamID", #""TEAM1234567""#, "ten capitals"), ("teamID", "1234567890", "ten capitals"),
            ("topic", #""com.example.drop\n""#, "bundle id"), ("topic", #""""#, "bundle id"),
            ("endpoint", #""http://api.push.apple.com""#, "https URL"), ("sandboxEndpoint", "7", "https URL"),
            ("connections", "0", "from 1 to 64"), ("window", "10001", "from 1 to 10000"),
            ("caFile", #""key.p8""#, "no certificate"),
        ]
    )
    func wrong(_ key: String, _ value: String, _ reason: String) throws {
        let others = Self.whole.split(separator: ", ").filter { !$0.hasPrefix("\(key):") }
        let found = try faults((others + ["\(key): \(value)"]).joined(separator: ", "))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("/drop/apns/\(key): ") == true, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
        let secret = TestKey.pem.split(separator: "\n")[3]
        #expect(!found.joined().contains(secret))
    }

    @Test("an unknown member is reported with the similar known one")
    func unknown() throws {
        let found = try faults(Self.whole + #", keyId: "KEY1234567""#)
        #expect(found.count == 1 && found.first?.contains("did you mean keyID?") == true)
    }

    @Test("apps share a transport per environment only if team, key and connection settings are equal")
    func sharing() throws {
        let configuration = try read(
            """
            {
              one: { apns: { \(Self.whole) } },
              two: { apns: { \(Self.whole.replacing(".drop", with: ".two")) } },
              three: { apns: { \(Self.whole.replacing("KEY1234567", with: "KEY1234568")) } },
              four: { apns: { \(Self.whole.replacing("TEAM123456", with: "TEAM123457")) } },
              five: { apns: { \(Self.whole), endpoint: "https://apns.example" } },
            }
            """
        )
        let seen = Mutex<[TransportNeed]>([])
        let context = PushSenders.Context(logger: Logger(label: "push", sink: CapturedLog()))
        let senders = try PushSenders(configuration, context: context) { need in
            seen.withLock { $0.append(need) }
            return ScriptedTransport { _ in .answer(200) }
        }
        let needs = seen.withLock { $0 }
        // Two for one and two together, two for three, two for four, and a production transport for five.
        #expect(needs.count == 7)
        #expect(needs.filter { $0.name == "apns-sandbox" }.count == 3)
        #expect(Set(needs).count == 7)
        #expect(senders.senders.values.allSatisfy { $0[.apns]?.window == 500 })
    }
}
