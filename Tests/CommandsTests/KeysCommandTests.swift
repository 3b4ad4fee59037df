import BellhopRules
import CommandLineSupport
import Cryptography
import Foundation
import ServiceRuntime
import Testing

@testable import Commands

@Suite("bellhop keys")
struct KeysCommandTests {
    /// Runs a body with the path of a file in a temporary folder.
    private func withFile(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-keys-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appendingPathComponent("vapid.pem").path)
    }

    private func publicKey(_ pem: some Collection<UInt8>) throws -> String {
        Base64URL.encode(try PrivateKey(pem: Array(pem)).p256Point())
    }

    @Test("the file contains the private key of the printed public key, readable only by its owner")
    func writes() async throws {
        try await withFile { file in
            let answer = await Prompt().run("keys", "vapid", "--out", file)
            #expect(answer.code == .done && answer.complaints.isEmpty)
            let pem = try Data(contentsOf: URL(fileURLWithPath: file))
            let expected = try publicKey(pem)
            #expect(answer.output.contains("public key: \(expected)"))
            #expect(!answer.output.contains("PRIVATE KEY"))
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test("an existing file is not overwritten, nor is the missing target of a link created")
    func neverOverwrites() async throws {
        try await withFile { file in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let answer = await Prompt().run("keys", "vapid", "--out", file)
            #expect(answer.code == .badInput)
            #expect(answer.complaints.contains("the file already exists"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
            let link = file + ".link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file + ".other")
            #expect(await Prompt().run("keys", "vapid", "--out", link).code == .badInput)
            #expect(!FileManager.default.fileExists(atPath: file + ".other"))
            #expect(await Prompt().run("keys", "vapid", "--out", file + "/none/vapid.pem").code == .badInput)
        }
    }

    @Test("without a file, the command prints a new key pair each time")
    func prints() async throws {
        let (first, second) = (await Prompt().run("keys", "vapid"), await Prompt().run("keys", "vapid"))
        #expect(first.code == .done && first.output != second.output)
        let end = try #require(first.output.range(of: "public key: "))
        let expected = try publicKey(first.output[..<end.lowerBound].utf8)
        #expect(first.output[end.upperBound...] == expected)
    }

    @Test("--json prints only one object")
    func json() async throws {
        let printed = try JSONParser().parse(Array(await Prompt().run("keys", "vapid", "--json").output.utf8)).get()
        let pem = try #require(printed["privateKey"]?.string)
        #expect(try printed["publicKey"]?.string == publicKey(pem.utf8))
        try await withFile { file in
            let output = await Prompt().run("keys", "vapid", "--json", "--out", file).output
            let printed = try JSONParser().parse(Array(output.utf8)).get()
            #expect(printed["privateKeyFile"]?.string == file)
            #expect(printed["privateKey"] == nil)
        }
    }

    @Test("anything except vapid is a usage error", arguments: [[], ["rsa"], ["vapid", "x"], ["vapid", "--out", ""]])
    func usage(_ words: [String]) async {
        let answer = await Prompt().run(["keys"] + words)
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains("bellhop keys"))
    }
}
