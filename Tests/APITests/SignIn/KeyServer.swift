import Foundation
import ServiceRuntime
import Synchronization

@testable import API
@testable import Sandbox

/// A server of key sets with TLS on loopback, whose answer a test chooses.
final class KeyServer: Sendable {
    /// The PEM file of the authority that signed the server's certificate.
    let authorities: String
    private let server: HTTP2Server
    private let handler: Handler

    private final class Handler: HTTP2Handler {
        let readsContent = true
        let answer: Mutex<HTTP2Answer>
        let paths = Mutex<[String]>([])

        init(_ answer: HTTP2Answer) { self.answer = Mutex(answer) }

        func react(to request: HTTP2Request) -> HTTP2Reaction {
            paths.withLock { $0.append(request.path) }
            return HTTP2Reaction(.answer(answer.withLock { $0 }))
        }
    }

    init(_ answer: HTTP2Answer) throws {
        let now = SystemTime().now()
        let authority = try CertificateAuthority(now: now)
        authorities = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pem").path
        try authority.certificate.pem().write(toFile: authorities, atomically: true, encoding: .utf8)
        let order = CertificateRequest(
            names: [.host("localhost")],
            validity: now - .seconds(60)..<now + .seconds(3_600)
        )
        handler = Handler(answer)
        server = try HTTP2Server.start(
            listen: ListenAddress(host: "127.0.0.1", port: 0),
            identity: try authority.issue(order),
            limits: HTTP2Limits(),
            handler: handler
        )
    }

    var url: String { "https://localhost:\(server.address.port)/keys" }
    /// The source that trusts the server.
    var source: RemoteKeySource { RemoteKeySource(url: url, authoritiesFile: authorities) }
    /// The paths of all requests.
    var paths: [String] { handler.paths.withLock { $0 } }

    func answer(_ answer: HTTP2Answer) { handler.answer.withLock { $0 = answer } }

    func stop() async {
        await server.stop(grace: .zero)
        try? FileManager.default.removeItem(atPath: authorities)
    }

    /// Runs a body with a server, which is stopped afterwards.
    static func with(_ answer: HTTP2Answer, _ body: (KeyServer) async throws -> Void) async throws {
        let server = try KeyServer(answer)
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }
}
