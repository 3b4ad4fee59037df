import HTTPTransfer
import Synchronization
import TestSupport
import Testing

@Suite(
    "Connecting to an HTTP/2 peer",
    .limitedConcurrency,
    .enabled(if: TestCertificate.isAvailable),
    .timeLimit(.ofTest)
)
struct OpeningTests {
    @Test("a URL with an IPv6 address in brackets works")
    func addressV6() async throws {
        let certificate = try TestCertificate(names: "IP:::1")
        guard let server = try? FrameServer(address: .v6, certificate: certificate, echo) else {
            print("there is no ::1 on this machine: ADDRESSES IN BRACKETS ARE NOT TESTED")
            return
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(certificate)
        let request = TransferRequest(.post, url: server.url(host: "[::1]"), body: [1], timeouts: .generous)
        #expect(await transport.send(request).answer?.body == [1])
        #expect(server.requests.first?.field(":authority") == "[::1]:\(server.port)")
        await transport.close()
    }

    private let echo: FrameServer.Script = { peer in
        peer.send(.settings())
        while let request = peer.nextRequest() { peer.answer(request) }
    }

    @Test("requests to a name without an address were not sent", arguments: TransportKind.allCases)
    func unknownName(kind: TransportKind) async throws {
        let certificate = try TestCertificate()
        let transport = try kind.open(trusting: certificate)
        // The resolver itself rejects a label of more than 63 letters, without a query.
        let host = String(repeating: "a", count: 64) + ".invalid"
        let requests = (0..<30).map { TransferRequest(.post, url: "https://\(host)/\($0)", body: [1]) }
        #expect(await transport.send(requests).map(\.notSent) == Array(repeating: .nameLookup, count: 30))
        await transport.close()
    }

    @Test("requests to more unknown names than are looked up at a time were not sent")
    func unknownNames() async throws {
        let transport = try HTTP2Transport.trusting(TestCertificate())
        let label = String(repeating: "a", count: 64)
        let requests = (0..<100).map {
            TransferRequest(.post, url: "https://\(label).\($0).invalid/", body: [1], timeouts: .generous)
        }
        #expect(await transport.send(requests).map(\.notSent) == Array(repeating: .nameLookup, count: 100))
        await transport.close()
    }

    @Test("requests to a port without a listener were not sent", arguments: TransportKind.allCases)
    func refused(kind: TransportKind) async throws {
        let port = try TestSocket.unusedPort()
        let certificate = try TestCertificate()
        let transport = try kind.open(trusting: certificate)
        let requests = (0..<20).map { _ in TransferRequest(.post, url: "https://127.0.0.1:\(port)/secret", body: [1]) }
        let outcomes = await transport.send(requests)
        #expect(outcomes.map(\.notSent) == Array(repeating: .connect, count: 20))
        #expect(outcomes.first?.error?.text.contains("POST to 127.0.0.1:\(port)") == true)
        #expect(outcomes.first?.error?.text.contains("secret") == false)
        await transport.close()
    }

    @Test("the next address is tried if one does not answer")
    func nextAddress() async throws {
        // "localhost" may resolve to ::1 first, where no server listens on this port.
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        #expect(await transport.send(server.post()).answer != nil)
        await transport.close()
    }

    @Test(
        "addresses that are not public are rejected if only public ones are allowed",
        arguments: ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"]
    )
    func privateAddress(host: String) async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.addressPolicy = .publicAddressesOnly }
        let outcome = await transport.send(TransferRequest(.get, url: server.url(host: host)))
        #expect(outcome.notSent == .addressRefused)
        #expect(server.connectionCount == 0)
        await transport.close()
    }

    @Test("a request to a peer with TLS but without HTTP/2 was not sent")
    func noHTTP2() async throws {
        let certificate = try TestCertificate()
        let (process, port) = try await TestProgram.serving("openssl", connected: true) { port in
            [
                "s_server", "-quiet", "-accept", "127.0.0.1:\(port)", "-key", certificate.keyFile, "-cert",
                certificate.certificateFile,
            ]
        }
        defer { process.end() }
        let transport = try HTTP2Transport.trusting(certificate)
        let request = TransferRequest(.post, url: "https://localhost:\(port)/", body: [1], timeouts: .generous)
        let outcome = await transport.send(request)
        #expect(outcome.notSent == .protocolViolation)
        #expect(outcome.error?.text.contains("does not speak HTTP/2") == true)
        await transport.close()
    }

    @Test("all waiting requests fail if the peer closes right after the handshake")
    func closedAtOnce() async throws {
        let server = try FrameServer { $0.cut() }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let outcomes = await transport.send((0..<20).map { server.post("\($0)") })
        #expect(outcomes.map(\.notSent) == Array(repeating: .connectionLost, count: 20))
        #expect(server.connectionCount == 1)
        await transport.close()
    }

    @Test("the next batch connects again after a failure")
    func anew() async throws {
        let server = try FrameServer { peer in
            guard peer.index > 0 else { return }
            peer.send(.settings())
            while let request = peer.nextRequest() { peer.answer(request) }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        #expect(await transport.send(server.post()).notSent == .connectionLost)
        #expect(await transport.send(server.post()).answer?.newConnections == 1)
        await transport.close()
    }

    @Test("a second connection that fails does not disturb the first")
    func secondFails() async throws {
        let mayAnswer = Latch()
        let server = try FrameServer { peer in
            guard peer.index == 0 else { return }
            peer.send(.settings([.concurrentStreams: 2]))
            while let request = peer.nextRequest() {
                mayAnswer.wait()
                peer.answer(request)
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.maxConnectionsPerHost = 2 }
        async let sending = transport.send((0..<20).map { server.post("\($0)") })
        try await eventually { server.endedCount == 1 }
        mayAnswer.open()
        #expect(await sending.compactMap(\.answer).count == 20)
        await transport.close()
    }

    @Test("waiting requests continue if the first connection ends just after a second has failed")
    func firstLeaves() async throws {
        let mayAnswer = Latch()
        let server = try FrameServer { peer in
            // The client notices this end before it receives anything on the first connection.
            guard peer.index != 1 else { return peer.finish() }
            peer.send(.settings([.concurrentStreams: 2]))
            guard peer.index > 0 else {
                let requests = [peer.nextRequest(), peer.nextRequest()].compactMap { $0 }
                mayAnswer.wait()
                for request in requests { peer.answer(request) }
                if let last = requests.last { peer.send(.goAway(lastStream: last.stream)) }
                return
            }
            // Answers each request immediately, since an additional connection may get only one.
            while let request = peer.nextRequest() { peer.answer(request) }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.maxConnectionsPerHost = 2 }
        let answered = Mutex(0)
        let sending = Task {
            let outcomes = await transport.send((0..<20).map { server.post("\($0)") })
            answered.withLock { $0 = outcomes.compactMap(\.answer).count }
        }
        try await eventually { server.endedCount == 1 }
        mayAnswer.open()
        // A loop that is not woken would check again only after a minute.
        try await eventually("twenty answers") { answered.withLock { $0 } == 20 }
        await sending.value
        await transport.close()
    }
}
