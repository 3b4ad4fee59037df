import Foundation
import ServiceRuntime
import TLS

@testable import Sandbox

/// A certificate authority whose certificate is stored in a file.
///
/// The file is deleted with the object.
final class TestAuthority {
    let file: String
    private let authority: CertificateAuthority
    private let now = SystemTime().now()

    init() throws {
        authority = try CertificateAuthority(now: now)
        file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pem").path
        try authority.certificate.pem().write(toFile: file, atomically: true, encoding: .utf8)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: file)
    }

    /// A server whose certificate is for `name`.
    ///
    /// It is valid from two days ago until `days` from now.
    func server(_ name: CertificateRequest.Name = .host("localhost"), days: Int64 = 1) throws -> TLSServerContext {
        try identity(name, days: days).serverContext()
    }

    func identity(_ name: CertificateRequest.Name = .host("localhost"), days: Int64 = 1) throws -> TLSIdentity {
        let validity = now - .seconds(2 * 86_400)..<now + .seconds(days * 86_400)
        return try authority.issue(CertificateRequest(names: [name], validity: validity))
    }

    /// A client that trusts this authority.
    func client() throws -> TLSClientContext {
        try TLSClientContext(authoritiesFile: file)
    }
}
