import BellhopRules
import Push
import Testing

@Suite("A service account's file")
struct ServiceAccountTests {
    private func sentences(_ bytes: [UInt8]) -> [String] {
        guard case .failure(let faults) = ServiceAccount.read(bytes) else { return [] }
        return faults.faults.map { "\($0.pointer.text.dropFirst()): \($0.message)" }
    }

    @Test("a file is read in the format of the Firebase console")
    func sound() throws {
        let account = try Accounts.read()
        #expect(account.projectID == "bellhop-test")
        #expect(account.keyID == "key-1")
        #expect(account.email == "sender@bellhop-test.iam.gserviceaccount.com")
        #expect(account.tokenURI == "https://oauth2.example/token")
        #expect(account.key.kind == .rsa)
    }

    @Test(
        "each invalid member is named",
        arguments: [
            ("type", "authorized_user"), ("project_id", "a/../b"), ("project_id", ""), ("client_email", "nobody"),
            ("private_key_id", "a b"), ("token_uri", "http://oauth2.example"), ("token_uri", "https://u:p@x"),
            ("private_key", "none"), ("private_key", TestKey.ellipticPEM),
        ]
    )
    func wrong(_ name: String, _ value: String) throws {
        let found = sentences(Accounts.file { $0[name] = .string(value) })
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("\(name): ") == true)
        #expect(sentences(Accounts.file { $0[name] = nil }).first?.contains("found no value") == true)
        #expect(sentences(Accounts.file { $0[name] = 7 }).count == 1)
    }

    @Test("all faults are reported together, and none of them shows a key")
    func allAtOnce() {
        let found = sentences(Array("{}".utf8))
        #expect(found.count == 6)
        let broken = sentences(Accounts.file { $0["private_key"] = .string(TestKey.pem.replacing("MII", with: "MIX")) })
        #expect(broken.count == 1)
        let secret = TestKey.pem.split(separator: "\n")[3]
        #expect(!broken.joined().contains(secret))
    }

    @Test("a file that is not a JSON object is reported as such", arguments: ["", "{", "[]", "<html>"])
    func noObject(_ text: String) {
        #expect(sentences(Array(text.utf8)).count == 1)
    }
}
