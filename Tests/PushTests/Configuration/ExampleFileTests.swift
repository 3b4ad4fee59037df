import BellhopRules
import Foundation
import Push
import TestSupport
import Testing

@Suite("deploy/providers.example.json5")
struct ExampleFileTests {
    private static let shipped = Checkout.file("deploy/providers.example.json5")

    /// The files that the example needs and that only its user has.
    private static let keys: [(pointer: String, file: String, content: @Sendable () -> [UInt8])] = [
        ("/drop/fcm/serviceAccount", "drop-service-account.json", { Accounts.file() }),
        ("/drop/email/unsubscribe/keyFile", "unsubscribe.key", { Array(String(repeating: "k", count: 64).utf8) }),
        ("/drop/email/passwordFile", "mail-password", { Array("a password\n".utf8) }),
        ("/padel/apns/key", "AuthKey_ABC123DEFG.p8", { Array(TestKey.ellipticPEM.utf8) }),
        ("/padel/webpush/keys/0/privateKeyFile", "padel-vapid-2026.pem", { Array(TestKey.ellipticPEM.utf8) }),
    ]

    /// The same providers with the required members alone.
    private static let bare = """
        {
          drop: {
            fcm: {serviceAccount: "keys/drop-service-account.json"},
            expo: {},
            email: {server: "smtps://mail.example:465", from: "Drop <no-reply@drop.example>",
                    linkBase: "https://drop.example",
                    unsubscribe: {url: "https://drop.example/u", keyFile: "keys/unsubscribe.key"}},
          },
          padel: {
            apns: {key: "keys/AuthKey_ABC123DEFG.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ",
                   topic: "com.example.padel"},
            webpush: {subject: "mailto:ops@example.com",
                      keys: [{id: "2026", privateKeyFile: "keys/padel-vapid-2026.pem"}]},
          },
        }
        """

    @Test("the example lacks only the user's own keys")
    func lacksKeys() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("providers.json5", [UInt8](Data(contentsOf: Self.shipped)))
        do {
            _ = try ProviderConfiguration.read(file: file)
            Issue.record("the example names keys that nobody has")
        } catch {
            #expect(error.faults.map(\.pointer.text) == Self.keys.map(\.pointer))
        }
    }

    @Test("the values that the example shows as defaults are the defaults of every provider")
    func showsDefaults() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/keys", withIntermediateDirectories: true)
        for key in Self.keys { _ = try folder.write("keys/\(key.file)", key.content()) }
        let shipped = try folder.write("providers.json5", [UInt8](Data(contentsOf: Self.shipped)))
        let shown = try ProviderConfiguration.read(file: shipped).apps
        let bare = try ProviderConfiguration.read(file: try folder.write("bare.json5", Array(Self.bare.utf8))).apps
        let drop = try #require(AppID(validating: "drop"))
        let padel = try #require(AppID(validating: "padel"))
        let fcm = try (#require(shown[drop]?.fcm), #require(bare[drop]?.fcm))
        #expect(fcm.0.endpoint == fcm.1.endpoint && fcm.0.budget == fcm.1.budget)
        #expect(fcm.0.reach.connections == fcm.1.reach.connections && fcm.0.reach.window == fcm.1.reach.window)
        let expo = try (#require(shown[drop]?.expo), #require(bare[drop]?.expo))
        #expect(expo.0.endpoint == expo.1.endpoint && expo.0.budget == expo.1.budget)
        #expect(expo.0.reach.connections == expo.1.reach.connections && expo.0.reach.window == expo.1.reach.window)
        let email = try (#require(shown[drop]?.email), #require(bare[drop]?.email))
        #expect(email.0.window == email.1.window)
        #expect(email.0.transport.connections == email.1.transport.connections)
        let apns = try (#require(shown[padel]?.apns), #require(bare[padel]?.apns))
        #expect(apns.0.endpoint == apns.1.endpoint && apns.0.sandboxEndpoint == apns.1.sandboxEndpoint)
        #expect(apns.0.reach.connections == apns.1.reach.connections && apns.0.reach.window == apns.1.reach.window)
        let browsers = try (#require(shown[padel]?.webPush), #require(bare[padel]?.webPush))
        #expect(
            browsers.0.reach.connections == browsers.1.reach.connections
                && browsers.0.reach.window == browsers.1.reach.window
        )
        #expect(browsers.0.hosts == browsers.1.hosts)
    }
}
