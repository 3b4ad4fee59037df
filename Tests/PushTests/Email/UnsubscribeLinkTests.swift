import BellhopRules
import Cryptography
import Push
import Testing

@Suite("Unsubscribe links")
struct UnsubscribeLinkTests {
    private func subject(_ user: String = "u1", app: String = "drop") throws -> UnsubscribeLink.Target {
        UnsubscribeLink.Target(
            app: try #require(AppID(validating: app)),
            user: try #require(UserID(validating: user))
        )
    }

    @Test("a link identifies its user, whatever the user's id", arguments: ["u1", "kåre 👍🏽", "../x"])
    func roundTrip(_ user: String) throws {
        let link = try Mails.link()
        let subject = try subject(user)
        let url = link.url(for: subject)
        #expect(url.hasPrefix("https://drop.example/u/"))
        #expect(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
        #expect(link.check(link.token(for: subject)) == subject)
        #expect(link.token(for: subject) == link.token(for: subject))
    }

    @Test("a link contains the app's own hash of the mail's address, whatever its capitalisation")
    func address() throws {
        let link = try Mails.link()
        let plain = try subject("kåre x")
        func mailed(_ text: String, _ app: AppID) throws -> UnsubscribeLink.Target {
            let address = try #require(EmailAddress(validating: text))
            return UnsubscribeLink.Target(app: app, user: plain.user, mailedTo: address)
        }
        let subject = try mailed("Ada@Example.com", plain.app)
        #expect(link.check(link.token(for: subject)) == subject)
        #expect(subject.addressHash?.count == 16)
        #expect(try mailed("ada@example.COM", plain.app) == subject)
        #expect(try mailed("eva@example.com", plain.app) != subject)
        let other = try #require(AppID(validating: "padel"))
        #expect(try mailed("Ada@Example.com", other).addressHash != subject.addressHash)
        #expect(link.check(link.token(for: plain))?.addressHash == nil)
    }

    @Test("every change of a token makes it invalid")
    func forged() throws {
        let link = try Mails.link()
        let token = try #require(Base64URL.decode(link.token(for: subject())))
        for index in token.indices {
            for bit in 0..<8 {
                var changed = token
                changed[index] ^= 1 << bit
                #expect(link.check(Base64URL.encode(changed)) == nil)
            }
        }
        #expect(link.check(Base64URL.encode(Array(token.dropLast()))) == nil)
        #expect(link.check(Base64URL.encode(token + [0x31])) == nil)
    }

    @Test(
        "a malformed token is invalid",
        arguments: ["", "x", "====", "é", String(repeating: "A", count: 43), String(repeating: "A", count: 5000)]
    )
    func nonsense(_ token: String) throws {
        #expect(try Mails.link().check(token) == nil)
    }

    @Test("a token with another key, or of another use of the key, is invalid")
    func keys() throws {
        let link = try Mails.link()
        let other = try Mails.link(keys: String(repeating: "x", count: 32))
        #expect(try link.check(other.token(for: subject())) == nil)
        let statement = Array("mail\0drop\0u1".utf8)
        let proof = HMAC.sha256(of: statement, key: Array(Mails.keyText.utf8))
        #expect(link.check(Base64URL.encode(proof + statement)) == nil)
    }

    @Test("after a new key is inserted first, old links still work, and new ones use it")
    func rotation() throws {
        let old = try Mails.link()
        let fresh = String(repeating: "n", count: 40)
        let both = try Mails.link(keys: "# newest first\n\(fresh)\n\n  \(Mails.keyText) \n")
        let subject = try subject()
        #expect(both.check(old.token(for: subject)) == subject)
        #expect(old.check(both.token(for: subject)) == nil)
        #expect(try Mails.link(keys: fresh).check(both.token(for: subject)) == subject)
    }

    @Test(
        "keys that could be guessed are rejected, and keys are never printed",
        arguments: ["", "#\n", "short", "short\n" + Mails.keyText]
    )
    func weakKeys(_ text: String) throws {
        #expect(UnsubscribeKeys(file: Array(text.utf8)) == nil)
        let keys = try #require(UnsubscribeKeys(file: Array(Mails.keyText.utf8)))
        var dumped = ""
        dump(keys, to: &dumped)
        #expect(!"\(keys)".contains("kkk") && !dumped.contains("107"))
    }

    @Test("a link does not show the address")
    func showsNoAddress() throws {
        let token = try Mails.link().token(for: subject())
        let bytes = try #require(Base64URL.decode(token))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("@"))
    }
}
