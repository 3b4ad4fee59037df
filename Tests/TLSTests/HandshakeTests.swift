import Testing
import TLS

@testable import Sandbox

@Suite("TLS handshakes")
struct HandshakeTests {
    @Test(
        "a handshake succeeds on both sides if the certificate is for the host",
        arguments: [
            ("localhost", CertificateRequest.Name.host("localhost")), ("LOCALHOST", .host("localhost")),
            ("push.example.com", .host("*.example.com")), ("127.0.0.1", .address("127.0.0.1")),
            ("::1", .address("::1")),
        ]
    )
    func success(host: String, name: CertificateRequest.Name) throws {
        let authority = try TestAuthority()
        let ends = try ConnectionPair(authority.client(), authority.server(name), host: host)
        let outcome = ends.shakeHands()
        #expect(outcome.client == .done(0))
        #expect(outcome.server == .done(0))
        #expect(ends.client.refusal == nil)
        #expect(ends.client.ending == nil)
    }

    @Test(
        "a handshake fails if the certificate is for another host",
        arguments: [
            ("other", CertificateRequest.Name.host("localhost")), ("localhost", .address("127.0.0.1")),
            ("127.0.0.1", .host("localhost")), ("127.0.0.1", .host("127.0.0.1")),
            ("a.b.example.com", .host("*.example.com")), ("push.example.com", .host("pu*.example.com")),
            // The subject of every certificate is "Bellhop sandbox". It does not count as a host name.
            ("Bellhop sandbox", .host("localhost")),
        ]
    )
    func wrongHost(host: String, name: CertificateRequest.Name) throws {
        let authority = try TestAuthority()
        let ends = try ConnectionPair(authority.client(), authority.server(name), host: host)
        let outcome = ends.shakeHands()
        #expect(outcome.client == .ended)
        #expect(outcome.server == .ended)
        guard case .certificate(let words) = ends.client.refusal else {
            Issue.record("refused because of \(String(describing: ends.client.refusal))")
            return
        }
        #expect(words.contains("mismatch"))
    }

    @Test("a handshake fails if the certificate has expired")
    func expired() throws {
        let authority = try TestAuthority()
        let ends = try ConnectionPair(authority.client(), authority.server(days: -1), host: "localhost")
        #expect(ends.shakeHands().client == .ended)
        #expect(ends.client.refusal == .certificate("certificate has expired"))
    }

    @Test("a handshake fails if the authority is not trusted")
    func untrusted() throws {
        let ends = try ConnectionPair(TestAuthority().client(), TestAuthority().server(), host: "localhost")
        #expect(ends.shakeHands().client == .ended)
        guard case .certificate = ends.client.refusal else {
            Issue.record("refused because of \(String(describing: ends.client.refusal))")
            return
        }
    }

    @Test("a handshake fails if the peer disconnects")
    func cut() throws {
        let authority = try TestAuthority()
        let ends = try ConnectionPair(authority.client(), authority.server(), host: "localhost")
        #expect(ends.client.handshake() == .needsReading)
        ends.cutServer()
        #expect(ends.client.handshake() == .ended)
        guard case .other(let words) = ends.client.refusal else {
            Issue.record("refused because of \(String(describing: ends.client.refusal))")
            return
        }
        #expect(words == ends.client.ending)
    }
}
