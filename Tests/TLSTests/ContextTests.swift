import COpenSSL
import Foundation
import Testing
import TLS

@testable import Sandbox

@Suite("TLS contexts")
struct ContextTests {
    /// Writes texts into files in a temporary folder, which exists while `body` runs.
    private func withFiles<R>(_ texts: [String], _ body: ([String]) throws -> R) throws -> R {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = try texts.enumerated().map { index, text in
            let file = folder.appendingPathComponent("\(index).pem").path
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            return file
        }
        return try body(files)
    }

    private func code(_ make: () throws -> Void) -> TLSError.Code? {
        do {
            try make()
            return nil
        } catch {
            return (error as? TLSError)?.code
        }
    }

    @Test("a client context trusts the system's authorities if no others are named")
    func systemAuthorities() throws {
        #expect(code { _ = try TLSClientContext(authoritiesFile: nil) } == nil)
    }

    @Test("a client context rejects authorities that cannot be read", arguments: ["", "no certificate"])
    func authorities(text: String) throws {
        #expect(code { _ = try TLSClientContext(authoritiesFile: "/nonexistent") } == .authorities)
        try withFiles([text]) { files in
            #expect(code { _ = try TLSClientContext(authoritiesFile: files[0]) } == .authorities)
        }
    }

    @Test("a server context accepts a certificate with its own key, and rejects any other pair")
    func servers() throws {
        let authority = try TestAuthority()
        let (one, other) = (try authority.identity(), try authority.identity())
        let certificate = try one.certificate.pem()
        #expect(code { _ = try TLSServerContext(certificate: certificate, key: one.key.pkcs8()) } == nil)
        for key in [try other.key.pkcs8(), "", "nonsense", try lockedKey()] {
            #expect(code { _ = try TLSServerContext(certificate: certificate, key: key) } == .identity)
        }
        #expect(code { _ = try TLSServerContext(certificate: "", key: one.key.pkcs8()) } == .identity)
    }

    /// Returns an encrypted key.
    ///
    /// OpenSSL must not ask for its passphrase on a terminal.
    private func lockedKey() throws -> String {
        let key = try GeneratedKey.generateP256()
        let output = BIO_new(BIO_s_mem())
        defer { BIO_free(output) }
        #expect(PEM_write_bio_PKCS8PrivateKey(output, key.handle, EVP_aes_256_cbc(), "bellhop", 7, nil, nil) == 1)
        var start: UnsafeMutablePointer<CChar>?
        let length = bellhop_bio_contents(output, &start)
        let text = String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
        #expect(text.contains("ENCRYPTED"))
        return text
    }
}
