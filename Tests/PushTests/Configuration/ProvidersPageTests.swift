import BellhopRules
import Foundation
import Push
import TestSupport
import Testing

@Suite("docs/providers.md")
struct ProvidersPageTests {
    private static let page = Checkout.file("docs/providers.md")

    /// Returns the first example of a section.
    private func example(_ section: String) throws -> String {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let start = try #require(text.range(of: "\n## \(section)\n"))
        let block = try #require(text[start.upperBound...].range(of: "```json5\n"))
        let end = try #require(text[block.upperBound...].range(of: "```"))
        return String(text[block.upperBound..<end.lowerBound])
    }

    private func read(_ text: String) throws -> ProviderConfiguration {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/keys", withIntermediateDirectories: true)
        _ = try folder.write("keys/AuthKey_ABC123DEFG.p8", Array(TestKey.ellipticPEM.utf8))
        _ = try folder.write("keys/safe-service-account.json", Accounts.file())
        return try ProviderConfiguration.read(file: try folder.write("providers.json5", Array(text.utf8)))
    }

    @Test("the example for APNs is valid, and the values that it shows as defaults are the defaults")
    func apns() throws {
        let drop = try #require(AppID(validating: "drop"))
        let shown = try #require(read(example("APNs")).apps[drop]?.apns)
        let bare = try #require(
            read(
                """
                {drop: {apns: {key: "keys/AuthKey_ABC123DEFG.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ",
                               topic: "com.example.drop"}}}
                """
            ).apps[drop]?.apns
        )
        #expect(shown.endpoint == bare.endpoint && shown.sandboxEndpoint == bare.sandboxEndpoint)
        #expect(shown.reach.connections == bare.reach.connections && shown.reach.window == bare.reach.window)
    }

    @Test("the example for FCM is valid, and the values that it shows as defaults are the defaults")
    func fcm() throws {
        let safe = try #require(AppID(validating: "safe"))
        let shown = try #require(read(example("FCM")).apps[safe]?.fcm)
        let bare = try #require(
            read(#"{safe: {fcm: {serviceAccount: "keys/safe-service-account.json"}}}"#).apps[safe]?.fcm
        )
        #expect(shown.endpoint == bare.endpoint)
        #expect(shown.reach.connections == bare.reach.connections && shown.reach.window == bare.reach.window)
    }

    @Test(
        "every reason that an operator may find in the ledger is in the tables",
        arguments: VerdictReason.allCases
    )
    func words(reason: VerdictReason) throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        #expect(text.contains("`\(reason.rawValue)`"))
    }
}
