import Cryptography
import Testing

@Suite("Secrets")
struct SecretTests {
    @Test("random bytes have the requested length and never repeat")
    func randomBytes() throws {
        let draws = try (0..<1_000).map { _ in try SecureRandom.bytes(16) }
        #expect(draws.allSatisfy { $0.count == 16 })
        #expect(Set(draws).count == draws.count)
        #expect(try SecureRandom.bytes(0).isEmpty)
        #expect(try SecureRandom.bytes(-1).isEmpty)
    }

    @Test("a request for more random bytes than OpenSSL supports is an error, not a crash")
    func tooManyRandomBytes() {
        #expect {
            try SecureRandom.bytes(Int.max)
        } throws: { error in
            (error as? CryptographyError)?.code == .randomUnavailable
        }
    }

    @Test("constant-time comparison detects every difference")
    func comparison() {
        let secret = Array("correct horse".utf8)
        #expect(ConstantTime.areEqual(secret, Array("correct horse".utf8)))
        #expect(ConstantTime.areEqual([], []))
        #expect(!ConstantTime.areEqual(secret, Array("correct hors".utf8)))
        #expect(!ConstantTime.areEqual(secret, []))
        for index in secret.indices {
            var other = secret
            other[index] ^= 1
            #expect(!ConstantTime.areEqual(secret, other))
        }
    }
}
