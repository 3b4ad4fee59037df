import BellhopRules
import Push
import Testing

@Suite("Providers' settings for clients")
struct ClientConfigurationTests {
    @Test("the settings for clients are read without credentials for sends, despite faults elsewhere")
    func parts() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("keys", Array(String(repeating: "k", count: 40).utf8))
        let text = """
            { drop: { fcm: { serviceAccountFile: "missing" }, email: {
                passwordFile: "missing", unsubscribe: { url: "https://api.example.com/u", keyFile: "keys" } } } }
            """
        let file = try folder.write("providers.json5", Array(text.utf8))
        let parts = try ProviderConfiguration.readForClients(file: file)
        let drop = try #require(AppID(validating: "drop"))
        #expect(parts[drop]?.unsubscribe != nil)
        #expect(parts[drop]?.webPushKey == nil)
        #expect(parts[drop]?.providers == [.fcm])
        #expect(throws: (any Error).self) { try ProviderConfiguration.read(file: file) }
    }
}
