import BellhopJSON
import BellhopRules
import Cryptography
import Foundation
import ServiceRuntime
import TestSupport
import Testing

@testable import API

@Suite("Token keys")
struct TokenKeySetTests {
    /// RFC 8037, appendix A.2.
    private static let ed25519 = """
        {"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":"e1","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
        """

    private static func read(_ keys: String) -> Result<TokenKeySet, DocumentFaults> {
        TokenKeySet.read(Array("{\"keys\":[\(keys)]}".utf8), file: "keys.json")
    }

    @Test("keys of all three algorithms are read, and encryption keys are skipped")
    func kinds() throws {
        let issuer = try TokenIssuer(key: .generateP256())
        let p256 = String(decoding: issuer.keySet, as: UTF8.self).dropFirst(9).dropLast(2)
        let rsa = """
            {"kty":"RSA","alg":"RS256","kid":"r1","e":"AQAB","n":"\
            ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yR\
            T-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXB\
            dQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9ia\
            GNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}
            """
        let encryption = #"{"kty":"oct","use":"enc","kid":"x"}"#
        let keys = try Self.read([String(p256), rsa, Self.ed25519, encryption].joined(separator: ",")).get()
        #expect(keys.count == 3)
    }

    @Test(
        "an unusable key is a fault with its place",
        arguments: [
            (#"{"kty":"EC","alg":"ES256"}"#, "/keys/0/kid"), (#"{"kty":"EC","kid":"a"}"#, "/keys/0/alg"),
            (#"{"kty":"EC","kid":"a","alg":"none"}"#, "/keys/0/alg"),
            (#"{"kty":"oct","kid":"a","alg":"HS256","k":"c2VjcmV0"}"#, "/keys/0/k"),
            (#"{"kty":"EC","kid":"a","alg":"ES256","crv":"P-256","x":"AA","y":"AA"}"#, "/keys/0/x"),
            (#"{"kty":"RSA","kid":"a","alg":"ES256"}"#, "/keys/0/kty"),
            (#"{"kty":"EC","kid":"a","alg":"ES256","crv":"P-521"}"#, "/keys/0/crv"),
            (#"{"kty":"OKP","crv":"Ed25519","kid":"a","alg":"EdDSA","d":"AA","x":"AA"}"#, "/keys/0/d"),
            (#"{"kty":"RSA","kid":"a","alg":"RS256","n":"AQAB","e":"AQAB"}"#, "/keys/0/n"),
            ("", "/keys"),
        ]
    )
    func faults(key: String, place: String) {
        guard case .failure(let found) = Self.read(key) else {
            Issue.record("\(key) was read")
            return
        }
        let places = found.faults.map(\.pointer.text)
        #expect(places.contains(place))
    }

    @Test("a duplicate key id and an invalid app are faults")
    func names() {
        let twice = Self.read("\(Self.ed25519),\(Self.ed25519)")
        let apps = Self.read(Self.ed25519.replacingOccurrences(of: "}", with: #","apps":["Drop!"]}"#))
        for result in [twice, apps] {
            guard case .failure = result else {
                Issue.record("it was read")
                continue
            }
        }
    }

    @Test("a changed file is read again, and a broken file leaves the old keys active")
    func reread() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("keys")).path
        defer { unlink(file) }
        let url = URL(fileURLWithPath: file)
        try Data("{\"keys\":[\(Self.ed25519)]}".utf8).write(to: url)
        let source = try KeySetProvider(
            SignInConfiguration(keys: file),
            signals: AsyncStream { _ in },
            logger: Logger(label: "test", level: .error, sink: CapturedLog()),
            metrics: MetricsRegistry()
        )
        #expect(source.current.keyCount == 1)
        try Data("{\"keys\":[".utf8).write(to: url)
        source.refresh()
        #expect(source.current.keyCount == 1)
        let second = Self.ed25519.replacingOccurrences(of: "e1", with: "e2")
        try Data("{\"keys\":[\(Self.ed25519),\(second)]}".utf8).write(to: url)
        source.refresh()
        #expect(source.current.keyCount == 2)
        unlink(file)
        source.refresh()
        #expect(source.current.keyCount == 2)
    }

    @Test("a change of the file is detected without a signal")
    func followed() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("keys")).path
        defer { unlink(file) }
        try Data("{\"keys\":[\(Self.ed25519)]}".utf8).write(to: URL(fileURLWithPath: file))
        let source = try KeySetProvider(
            SignInConfiguration(keys: file),
            every: .milliseconds(20),
            signals: AsyncStream { _ in },
            logger: Logger(label: "test", level: .error, sink: CapturedLog()),
            metrics: MetricsRegistry()
        )
        let drain = DrainSignal()
        let running = Task { try await source.run(until: drain) }
        let second = Self.ed25519.replacingOccurrences(of: "e1", with: "e2")
        try Data("{\"keys\":[\(Self.ed25519),\(second)]}".utf8).write(to: URL(fileURLWithPath: file))
        try await eventually("the new key is active") { source.current.keyCount == 2 }
        drain.fire()
        try await running.value
    }
}
