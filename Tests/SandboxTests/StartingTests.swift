import BellhopRules
import Foundation
import ServiceRuntime
import TestSupport
import Testing

@testable import Sandbox

@Suite("Starting a sandbox", .limitedConcurrency, .timeLimit(.ofTest))
struct StartingTests {
    @Test("a port in use is reported as an error on either side, and no file is left behind")
    func refusesTakenPorts() async throws {
        try await withSandbox { client in
            let file = NSTemporaryDirectory() + "sandbox-\(UUID().uuidString).pem"
            for side in [\SandboxOptions.listen, \SandboxOptions.control] {
                var options = SandboxOptions()
                options.caFile = file
                options[keyPath: side] =
                    side == \SandboxOptions.listen
                    ? client.sandbox.address : client.sandbox.controlAddress
                do {
                    let second = try await ProviderSandbox.start(options)
                    await second.stop(grace: .zero)
                    Issue.record("two sandboxes on one port")
                } catch let error as SandboxError {
                    #expect(error.code == .addressTaken)
                    #expect(error.description.contains("\(options[keyPath: side])"))
                }
                #expect(!FileManager.default.fileExists(atPath: file))
            }
        }
    }

    @Test("the files are written, secrets are readable only by their owner, and a temporary file is deleted at the end")
    func writesFiles() async throws {
        let folder = NSTemporaryDirectory() + "sandbox-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var temporary = ""
        try await withSandbox {
            $0.serviceAccountFile = folder + "/account.json"
            $0.apnsKeyFile = folder + "/key.p8"
            $0.project = "another-project"
        } _: { client in
            let account = try JSONText.parse([UInt8](Data(contentsOf: URL(fileURLWithPath: folder + "/account.json"))))
            #expect(account["type"] == "service_account")
            #expect(account["project_id"] == "another-project")
            #expect(account["token_uri"]?.string == client.sandbox.tokenURI)
            #expect(account["private_key"]?.string?.hasPrefix("-----BEGIN PRIVATE KEY-----") == true)
            let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/account.json")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let p8 = try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder + "/key.p8")))
            #expect(p8 == client.sandbox.apnsKey.p8)
            #expect(String(decoding: p8, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----"))
            let rights = try FileManager.default.attributesOfItem(atPath: folder + "/key.p8")
            #expect(rights[.posixPermissions] as? Int == 0o600)
            temporary = client.sandbox.caFile
            #expect(FileManager.default.fileExists(atPath: temporary))
        }
        #expect(!FileManager.default.fileExists(atPath: temporary))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["account.json", "key.p8"])
    }

    @Test("a file that cannot be written is reported as an error")
    func refusesUnwritableFiles() async throws {
        var options = SandboxOptions()
        options.caFile = "/nonexistent/ca.pem"
        do {
            let sandbox = try await ProviderSandbox.start(options)
            await sandbox.stop(grace: .zero)
            Issue.record("wrote into a folder that does not exist")
        } catch let error as SandboxError {
            #expect(error.code == .fileUnwritable)
            #expect(error.description.contains("/nonexistent/ca.pem"))
        }
    }

    @Test("the endpoints contain the host name that clients use")
    func announcesItsHost() async throws {
        try await withSandbox {
            $0.listen = ListenAddress(host: "0.0.0.0", port: 0)
        } _: { client in
            #expect(client.sandbox.fcmEndpoint == "https://localhost:\(client.sandbox.address.port)")
            let token = try await client.accessToken()
            #expect(!token.isEmpty)
        }
        var options = SandboxOptions()
        options.publicHost = "sandbox.example"
        #expect(options.announcedHost == "sandbox.example")
    }

    @Test("a project id consists of small letters, digits and hyphens")
    func checksProjects() {
        #expect(["a", "my-project-1"].allSatisfy(SandboxOptions.isProject))
        #expect(
            !["", "A", "a b", "a/b", "ä", String(repeating: "a", count: 64)].contains(where: SandboxOptions.isProject)
        )
    }
}
