import BellhopRules
import Push
import Testing

@Suite("What clients are told of the providers")
struct ClientPartTests {
    @Test("no key is read by which anything is sent, and what is wrong elsewhere does not matter")
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
        #expect(throws: (any Error).self) { try ProviderConfiguration.read(file: file) }
    }
}
