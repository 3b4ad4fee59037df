import BellhopRules
import Foundation
import Push
import Testing

@Suite("The providers' file")
struct ProviderConfigurationTests {
    /// Returns the faults of a text whose folder contains `account.json`, `ca.pem` and `empty`.
    private func faults(_ text: String) throws -> [String] {
        let folder = try TemporaryFolder()
        _ = try folder.write("account.json", Accounts.file())
        _ = try folder.write("ca.pem", Array("-----BEGIN CERTIFICATE-----\n".utf8))
        _ = try folder.write("empty", [])
        let file = try folder.write("providers.json5", Array(text.utf8))
        do {
            _ = try ProviderConfiguration.read(file: file)
            return []
        } catch {
            return error.faults.map { "\($0)".replacing(folder.path + "/", with: "") }
        }
    }

    @Test("a complete file is read, with paths relative to its folder")
    func full() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("account.json", Accounts.file())
        _ = try folder.write("ca.pem", Array("-----BEGIN CERTIFICATE-----\n".utf8))
        let text = """
            {
              // two apps
              drop: { fcm: { serviceAccount: "account.json", endpoint: "https://127.0.0.1:8443/",
                             tokenURI: "https://127.0.0.1:8443/token", caFile: "ca.pem", connections: 3, window: 40 } },
              safe: { fcm: { serviceAccount: "\(folder.path)/account.json" } },
              padel: {},
            }
            """
        let file = try folder.write("providers.json5", Array(text.utf8))
        let apps = try ProviderConfiguration.read(file: file).apps
        #expect(apps.count == 3)
        let names = try ["drop", "safe"].map { try #require(AppID(validating: $0)) }
        let drop = try #require(apps[names[0]]?.fcm)
        #expect(drop.endpoint == "https://127.0.0.1:8443")
        #expect(drop.tokenURI == "https://127.0.0.1:8443/token")
        #expect(drop.reach.authoritiesFile == folder.path + "/ca.pem")
        #expect(drop.reach.connections == 3 && drop.reach.window == 40)
        let safe = try #require(apps[names[1]]?.fcm)
        #expect(safe.endpoint == "https://fcm.googleapis.com")
        #expect(safe.tokenURI == safe.serviceAccount.tokenURI)
        #expect(safe.reach.authoritiesFile == nil)
        #expect(safe.reach.connections == 5 && safe.reach.window == 500)
    }

    @Test("all faults are reported together, each with its line, its place and the correction")
    func allAtOnce() throws {
        let found = try faults(
            """
            {
              drop: {
                fcm: {
                  serviceAcount: "account.json",
                  endpoint: "http://fcm.googleapis.com",
                  caFile: "missing.pem",
                  window: 0,
                  connections: "2",
                },
                fmc: {},
              },
              Safe: {},
              padel: { fcm: [] },
            }
            """
        )
        let expected = [
            "providers.json5:3:", "providers.json5:4:", "providers.json5:5:", "providers.json5:6:",
            "providers.json5:7:", "providers.json5:8:", "providers.json5:10:", "providers.json5:12:",
            "providers.json5:13:",
        ]
        #expect(found.count == expected.count)
        for (fault, beginning) in zip(found, expected) { #expect(fault.hasPrefix(beginning), "\(fault)") }
        let account = "expected the path of a file with the service account in JSON, found no value"
        #expect(found[0].contains("/drop/fcm/serviceAccount: \(account)"))
        #expect(found[1].contains("did you mean serviceAccount?"))
        #expect(found[2].contains("https URL"))
        #expect(found[3].contains("missing.pem does not exist"))
        #expect(found[4].contains("from 1 to 10000"))
        #expect(found[6].contains("did you mean fcm?"))
        #expect(found[7].contains(AppID.rule))
        #expect(found[8].contains("expected an object, found an array"))
    }

    @Test(
        "an unusable service account is reported with the reason",
        arguments: [
            (#""missing.json""#, "does not exist"), (#""empty""#, "there is no value"), (#"".""#, "plain file"),
            (#""ca.pem""#, "invalid number"), (#""""#, "path of a file"), ("7", "path of a file"),
        ]
    )
    func badAccount(_ path: String, _ reason: String) throws {
        let found = try faults("{ drop: { fcm: { serviceAccount: \(path) } } }")
        #expect(found.count == 1)
        #expect(found.first?.contains(reason) == true, "\(found)")
        #expect(found.first?.contains("/drop/fcm/serviceAccount") == true)
    }

    @Test("every fault of an account's file is listed")
    func brokenAccount() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write(
            "account.json",
            Accounts.file {
                $0["project_id"] = nil; $0["client_email"] = nil
            }
        )
        let text = #"{ drop: { fcm: { serviceAccount: "account.json" } } }"#
        let file = try folder.write("providers.json5", Array(text.utf8))
        do {
            _ = try ProviderConfiguration.read(file: file)
            Issue.record("the account is not sound")
        } catch {
            #expect(error.faults.count == 2)
            #expect("\(error)".contains("project_id"))
        }
    }

    @Test("a certificate file without a certificate is reported as such")
    func badAuthorities() throws {
        let found = try faults(#"{ drop: { fcm: { serviceAccount: "account.json", caFile: "empty" } } }"#)
        #expect(found.count == 1)
        #expect(found.first?.contains("holds no certificate") == true)
    }

    @Test(
        "a text that is not JSON5 or not an object is reported with its place",
        arguments: [
            ("{ drop: ", "1:9"), ("{\n  drop: { fcm: ,", "2:16"), ("", "1:1"), ("[]", "1:1"), ("{ a: 1, a: 2 }", "1:9"),
        ]
    )
    func noObject(_ text: String, _ place: String) throws {
        let found = try faults(text)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("providers.json5:\(place): ") == true, "\(found)")
    }

    @Test("a missing file is reported with the setting to check")
    func missing() {
        do {
            _ = try ProviderConfiguration.read(file: "/nonexistent/providers.json5")
            Issue.record("there is no such file")
        } catch {
            #expect("\(error)".contains("BELLHOP_PROVIDERS"))
        }
    }
}
