import BellhopRules
import Push
import Testing

@Suite("Expo in the providers' file")
struct ExpoConfigurationTests {
    private func read(_ section: String, token: String? = nil) throws -> ProviderConfiguration {
        let folder = try TemporaryFolder()
        if let token { _ = try folder.write("token", Array(token.utf8)) }
        return try ProviderConfiguration.read(
            file: try folder.write("providers.json5", Array("{drop:{expo:{\(section)}}}".utf8))
        )
    }

    private func expo(_ configuration: ProviderConfiguration) throws -> ProviderConfiguration.Expo {
        let drop = try #require(AppID(validating: "drop"))
        return try #require(configuration.apps[drop]?.expo)
    }

    private func faults(_ section: String, token: String? = nil) -> [String] {
        do {
            _ = try read(section, token: token)
            return []
        } catch let faults as DocumentFaults {
            return faults.faults.map(\.description)
        } catch {
            return ["\(error)"]
        }
    }

    @Test("an empty section is valid")
    func defaults() throws {
        let expo = try expo(read(""))
        #expect(expo.accessToken == nil)
        #expect(expo.endpoint == "https://exp.host")
        #expect(expo.reach.connections == 1 && expo.reach.window == 600)
        #expect(expo.budget == PushBudget(name: "expo/drop", pushes: 600, period: .seconds(1)))
        #expect(expo.reach.authoritiesFile == nil)
    }

    @Test("every member is read, and the access token is never shown")
    func whole() throws {
        let limits = "connections: 2, window: 300, budget: {pushes: 50, seconds: 2}"
        let section = #"accessTokenFile: "token", endpoint: "https://e.example/", \#(limits)"#
        let configuration = try read(section, token: "  very-secret\n")
        let expo = try expo(configuration)
        #expect(expo.accessToken?.revealed == "very-secret")
        #expect(expo.endpoint == "https://e.example")
        #expect(expo.reach.connections == 2 && expo.reach.window == 300)
        #expect(expo.budget == PushBudget(name: "expo/drop", pushes: 50, period: .seconds(2)))
        #expect(!String(describing: configuration).contains("very-secret"))
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!dumped.contains("very-secret"))
    }

    @Test(
        "an unusable access token is reported with the reason, and not shown",
        arguments: ["", "\n", "two words", "tø", String(repeating: "x", count: 5000)]
    )
    func badToken(_ token: String) {
        let found = faults(#"accessTokenFile: "token""#, token: token)
        #expect(found.count == 1)
        #expect(found.first?.contains("does not hold one access token") == true, "\(found)")
        #expect(token.count < 3 || found.first?.contains(token) == false)
    }

    @Test("all faults are reported together")
    func allFaults() {
        let found = faults(#"acessTokenFile: "x", accessTokenFile: "missing", endpoint: "http://e", window: 0"#)
        #expect(found.count == 4)
        #expect(found.contains { $0.contains("did you mean accessTokenFile?") })
        #expect(found.contains { $0.contains("missing does not exist") })
        #expect(found.contains { $0.contains("https URL") })
        #expect(found.contains { $0.contains("from 1 to 10000") })
    }
}
