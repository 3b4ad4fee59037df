import HTTPTransfer
import TestSupport
import Testing

/// Tests of both transports with a real server.
@Suite(
    "HTTP/2 over TLS",
    .limitedConcurrency,
    .enabled(if: NGHTTPServer.isAvailable, "nghttpd (nghttp2-server) and openssl are needed: HTTP/2 IS NOT TESTED"),
    .timeLimit(.ofTest)
)
struct HTTP2Tests {
    @Test("250 requests of one batch share one connection and keep their order", arguments: TransportKind.allCases)
    func multiplexing(kind: TransportKind) async throws {
        let server = try await NGHTTPServer()
        let transport = try kind.open(trusting: server.certificate)
        let requests = (0..<250).map {
            TransferRequest(.post, url: server.url("/\($0)"), body: Array("body \($0)".utf8))
        }
        let answers = await transport.send(requests).compactMap(\.answer)
        #expect(answers.count == 250)
        #expect(answers.allSatisfy { $0.status == 200 && $0.version == .http2 })
        #expect(answers.map { String(decoding: $0.body, as: UTF8.self) } == (0..<250).map { "body \($0)" })
        #expect(answers.map(\.newConnections).reduce(0, +) == 1)
        await transport.close()
    }

    /// This test omits libcurl, which opens streams before it has received the peer's limit.
    @Test("a peer that allows one stream gets the requests one at a time")
    func oneStream() async throws {
        let server = try await NGHTTPServer(["--echo-upload", "-m", "1"])
        let transport = try HTTP2Transport.trusting(server.certificate)
        let requests = (0..<50).map { TransferRequest(.post, url: server.url(), body: [UInt8($0)]) }
        let answers = await transport.send(requests).compactMap(\.answer)
        #expect(answers.map(\.body) == (0..<50).map { [UInt8($0)] })
        #expect(answers.map(\.newConnections).reduce(0, +) == 1)
        await transport.close()
    }

    @Test(
        "concurrent batches of several tasks each get their own answers",
        arguments: TransportKind.allCases
    )
    func concurrentBatches(kind: TransportKind) async throws {
        let server = try await NGHTTPServer()
        let transport = try kind.open(trusting: server.certificate) { $0.connections = 2 }
        await withTaskGroup(of: Bool.self) { group in
            for sender in 0..<20 {
                group.addTask {
                    let bodies = (0..<30).map { Array("\(sender)/\($0)".utf8) }
                    let requests = bodies.map { TransferRequest(.post, url: server.url(), body: $0) }
                    return await transport.send(requests).map { $0.answer?.body } == bodies
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        await transport.close()
    }

    @Test("a body of five megabytes arrives complete, in both directions", arguments: TransportKind.allCases)
    func largeBody(kind: TransportKind) async throws {
        let server = try await NGHTTPServer()
        let transport = try kind.open(trusting: server.certificate) { $0.bodyLimit = 8 << 20 }
        let body = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let outcome = await transport.send(TransferRequest(.post, url: server.url(), body: body))
        #expect(outcome.error == nil)
        let isWhole = outcome.answer?.body == body
        #expect(isWhole)
        await transport.close()
    }

    @Test("a body over the limit ends its stream, not the connection", arguments: TransportKind.allCases)
    func cappedBody(kind: TransportKind) async throws {
        let server = try await NGHTTPServer()
        let transport = try kind.open(trusting: server.certificate) { $0.bodyLimit = 1000 }
        let body = [UInt8](repeating: 7, count: 200_000)
        let capped = await transport.send(TransferRequest(.post, url: server.url(), body: body)).answer
        #expect(capped?.status == 200)
        #expect(capped?.isBodyTruncated == true)
        #expect(capped?.body == [UInt8](repeating: 7, count: 1000))
        let next = await transport.send(TransferRequest(.post, url: server.url(), body: [1, 2])).answer
        #expect(next?.body == [1, 2])
        #expect(next?.newConnections == 0)
        await transport.close()
    }

    @Test("a certificate of an untrusted authority stops the request", arguments: TransportKind.allCases)
    func wrongAuthority(kind: TransportKind) async throws {
        let server = try await NGHTTPServer()
        let other = try TestCertificate()
        let transport = try kind.open(trusting: other)
        let outcome = await transport.send(TransferRequest(.get, url: server.url()))
        #expect(outcome.notSent == .certificate)
        await transport.close()
    }

    @Test("a certificate for another host stops the request", arguments: TransportKind.allCases)
    func wrongHost(kind: TransportKind) async throws {
        let server = try await NGHTTPServer()
        let transport = try kind.open(trusting: server.certificate)
        let outcome = await transport.send(TransferRequest(.get, url: server.url("/secret-path", host: "127.0.0.1")))
        #expect(outcome.notSent == .certificate)
        #expect(outcome.error?.text.contains("127.0.0.1:\(server.port)") == true)
        #expect(outcome.error?.text.contains("secret-path") == false)
        await transport.close()
    }

    @Test("a peer without TLS is a failed handshake", arguments: TransportKind.allCases)
    func plainPeer(kind: TransportKind) async throws {
        let server = try RawServer { connection in
            connection.send("hello, this is no TLS\r\n")
            connection.waitForPeerToClose()
        }
        defer { server.stop() }
        let certificate = try TestCertificate()
        let transport = try kind.open(trusting: certificate)
        let outcome = await transport.send(TransferRequest(.get, url: "https://127.0.0.1:\(server.port)/"))
        #expect(outcome.notSent == .tls)
        await transport.close()
    }

    @Test("a peer that requests a client certificate gets none, and the error mentions the certificate")
    func wantsCertificate() async throws {
        let server = try await NGHTTPServer(["--echo-upload", "-V"])
        let transport = try HTTP2Transport.trusting(server.certificate)
        let refusal = await transport.send(TransferRequest(.post, url: server.url(), body: [1]))
        #expect(refusal.answer == nil)
        #expect(refusal.error?.text.contains("certificate") == true)
        await transport.close()
    }
}
