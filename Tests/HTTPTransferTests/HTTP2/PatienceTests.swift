import Foundation
import HTTPTransfer
import TestSupport
import Testing

@Suite(
    "Timeouts of the HTTP/2 transport",
    .limitedConcurrency,
    .enabled(if: TestCertificate.isAvailable),
    .timeLimit(.ofTest)
)
struct PatienceTests {
    private let brief = TransferTimeouts(total: LongestWait.duration, connect: .milliseconds(300))

    @Test("a peer that accepts the connection and never begins TLS is given up")
    func silentHandshake() async throws {
        let server = try RawServer { $0.waitForPeerToClose() }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(TestCertificate())
        let request = TransferRequest(.post, url: "https://127.0.0.1:\(server.port)/", body: [1], timeouts: brief)
        #expect(await transport.send(request).notSent == .timeout)
        await transport.close()
    }

    @Test("a peer that never sends its settings is given up")
    func noSettings() async throws {
        let server = try FrameServer { $0.waitForPeerToClose() }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let outcomes = await transport.send((0..<5).map { server.post("\($0)", timeouts: brief) })
        #expect(outcomes.map(\.notSent) == Array(repeating: .timeout, count: 5))
        #expect(server.requestCount == 0)
        await transport.close()
    }

    @Test("a host that does not accept connections is given up")
    func blackHole() async throws {
        let (listener, port) = try TestSocket.listening(backlog: 0)
        let fillers = TestSocket.filling(port)
        defer { for descriptor in fillers + [listener] { close(descriptor) } }
        let transport = try HTTP2Transport.trusting(TestCertificate())
        let request = TransferRequest(.post, url: "https://127.0.0.1:\(port)/", body: [1], timeouts: brief)
        let outcome = await transport.send(request)
        #expect(outcome.notSent == .timeout)
        #expect(outcome.error?.text.contains("POST to 127.0.0.1:\(port)") == true)
        await transport.close()
    }

    @Test("a peer that allows no requests is given up, at first or later", arguments: [true, false])
    func noStreams(fromTheStart: Bool) async throws {
        let server = try FrameServer { peer in
            peer.send(.settings([.concurrentStreams: fromTheStart ? 0 : 5]))
            while let request = peer.nextRequest() {
                peer.send(.settings([.concurrentStreams: 0]))
                peer.answer(request)
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.patience = .milliseconds(200) }
        if !fromTheStart { #expect(await transport.send(server.post("first")).answer != nil) }
        let outcome = await transport.send(server.post("second"))
        #expect(outcome.notSent == .timeout)
        #expect(outcome.error?.text.contains("allows no requests") == true)
        await transport.close()
    }

    @Test("a peer that allows requests in time is used")
    func streamsInTime() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings([.concurrentStreams: 0]))
            _ = peer.roundTrip()
            peer.send(.settings([.concurrentStreams: 1]))
            while let request = peer.nextRequest() { peer.answer(request) }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.patience = LongestWait.duration }
        #expect(await transport.send(server.post()).answer != nil)
        await transport.close()
    }

    @Test("a peer that does not read is given up")
    func unread() async throws {
        let hasBegun = Latch()
        let mayEnd = Latch()
        let server = try FrameServer { peer in
            // Unlimited windows, so that only the socket blocks the client.
            peer.send(.settings([.initialWindow: UInt32(Int32.max)]), .windowUpdate(0, by: 1 << 30))
            hasBegun.open()
            mayEnd.wait()
        }
        defer { server.stop() }
        defer { mayEnd.open() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.patience = .milliseconds(200) }
        let body = String(repeating: "x", count: 20_000_000)
        let outcome = await transport.send(server.post(body))
        #expect(outcome.unknown == .connectionLost)
        #expect(outcome.error?.text.contains("does not read") == true)
        await transport.close()
    }

    @Test("an idle connection is tested with a ping and is used again if the peer answers")
    func ping() async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.trust = .nanoseconds(1) }
        for _ in 0..<5 { #expect(await transport.send(server.post()).answer != nil) }
        #expect(server.connectionCount == 1)
        await transport.close()
    }

    @Test("a dead connection is detected by the ping and costs no request")
    func deadConnection() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                peer.answer(request)
                peer.isCourteous = peer.index > 0
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) {
            $0.trust = .nanoseconds(1)
            $0.patience = .milliseconds(500)
        }
        #expect(await transport.send(server.post("first")).answer != nil)
        let outcomes = await transport.send((0..<20).map { server.post("\($0)") })
        #expect(outcomes.compactMap(\.answer).count == 20)
        #expect(server.requests.filter { $0.connection == 0 }.map(\.text) == ["first"])
        #expect(server.requestCount == 21)
        await transport.close()
    }

    @Test("a connection without answers is abandoned, and the next request takes another")
    func silentConnection() async throws {
        let mayEnd = Latch()
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                peer.answer(request)
                if peer.index == 0 { return mayEnd.wait() }
            }
        }
        defer { server.stop() }
        defer { mayEnd.open() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        #expect(await transport.send(server.post("first")).answer != nil)
        let timeouts = TransferTimeouts(total: .milliseconds(300), connect: .seconds(60))
        #expect(await transport.send(server.post("lost", timeouts: timeouts)).unknown == .timeout)
        #expect(await transport.send(server.post("next")).answer?.newConnections == 1)
        await transport.close()
    }

    @Test("an idle connection is closed after its maximum age")
    func idle() async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.maxIdleAge = .milliseconds(100) }
        #expect(await transport.send(server.post()).answer != nil)
        try await eventually { server.endedCount == 1 }
        #expect(await transport.send(server.post()).answer?.newConnections == 1)
        await transport.close()
    }
}
