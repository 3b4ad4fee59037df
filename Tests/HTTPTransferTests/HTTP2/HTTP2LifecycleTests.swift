import Foundation
import HTTPTransfer
import Testing
import TestSupport

@Suite(
    "Lifecycle of an HTTP/2 transport",
    .limitedConcurrency,
    .enabled(if: TestCertificate.isAvailable),
    .timeLimit(.ofTest)
)
struct HTTP2LifecycleTests {
    /// The stage that a request has reached when it is given up.
    enum Stage: CaseIterable, Sendable {
        case dialing, handshake, settings, flight, queue
    }

    /// A request that reaches its stage and stays there.
    private struct Place {
        let request: TransferRequest
        let certificate: TestCertificate
        let hasArrived: @Sendable () -> Bool
        let leave: @Sendable () -> Void
    }

    private func place(_ stage: Stage) throws -> Place {
        switch stage {
        case .dialing:
            let (listener, port) = try TestSocket.listening(backlog: 0)
            let sockets = TestSocket.filling(port) + [listener]
            let before = OpenSockets.count(leadingTo: port)
            let url = "https://127.0.0.1:\(port)/"
            return Place(
                request: TransferRequest(.post, url: url, body: [1], timeouts: .generous),
                certificate: try TestCertificate(),
                hasArrived: { OpenSockets.count(leadingTo: port) > before },
                leave: { for socket in sockets { close(socket) } }
            )
        case .handshake:
            let server = try RawServer { $0.waitForPeerToClose() }
            let url = "https://127.0.0.1:\(server.port)/"
            return Place(
                request: TransferRequest(.post, url: url, body: [1], timeouts: .generous),
                certificate: try TestCertificate(),
                hasArrived: { server.connectionCount == 1 },
                leave: { server.stop() }
            )
        case .settings, .flight, .queue:
            let server = try FrameServer { peer in
                if stage != .settings { peer.send(.settings()) }
                // An acknowledgement of settings must not be sent before the peer's own settings.
                peer.isCourteous = stage != .settings
                while peer.nextRequest() != nil {}
            }
            return Place(
                request: server.post(),
                certificate: server.certificate,
                hasArrived: { stage == .settings ? server.connectionCount == 1 : server.requestCount == 1 },
                leave: { server.stop() }
            )
        }
    }

    /// Expects the outcome of a request that the transport gave up at a stage.
    ///
    /// It is unknown after the request was sent.
    private func expect(_ outcomes: [TransferOutcome], _ code: TransferError.Code, at stage: Stage) {
        switch stage {
        case .dialing, .handshake, .settings: #expect(outcomes.map(\.notSent) == [code])
        case .flight: #expect(outcomes.map(\.unknown) == [code])
        case .queue:
            #expect(outcomes.map(\.unknown) == [code, nil])
            #expect(outcomes.map(\.notSent) == [nil, code])
        }
    }

    private func transport(_ place: Place, grace: Duration = .zero) throws -> HTTP2Transport {
        try HTTP2Transport.trusting(place.certificate) {
            $0.window = 1
            $0.closeGrace = grace
        }
    }

    @Test("a cancelled batch returns immediately, at every stage", arguments: Stage.allCases)
    func cancellation(stage: Stage) async throws {
        let place = try place(stage)
        defer { place.leave() }
        let transport = try transport(place)
        let requests = Array(repeating: place.request, count: stage == .queue ? 2 : 1)
        let sending = Task { await transport.send(requests) }
        try await eventually { place.hasArrived() }
        sending.cancel()
        expect(await sending.value, .cancelled, at: stage)
        await transport.close()
    }

    @Test("closing ends requests that exceed the grace period, at every stage", arguments: Stage.allCases)
    func closing(stage: Stage) async throws {
        let place = try place(stage)
        defer { place.leave() }
        let transport = try transport(place, grace: .milliseconds(50))
        let requests = Array(repeating: place.request, count: stage == .queue ? 2 : 1)
        let sending = Task { await transport.send(requests) }
        try await eventually { place.hasArrived() }
        await transport.close()
        expect(await sending.value, .closed, at: stage)
        #expect(await transport.send(place.request).notSent == .closed)
        await transport.close()
    }

    @Test("a task that was cancelled before it sends sends nothing")
    func cancelledBefore() async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let outcome = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await transport.send(server.post())
        }.value
        #expect(outcome.notSent == .cancelled)
        #expect(server.connectionCount == 0)
        await transport.close()
    }

    @Test("a cancelled request leaves the connection to the other requests")
    func othersGoOn() async throws {
        let mayAnswer = Latch()
        let server = try FrameServer { peer in
            peer.send(.settings())
            let requests = (0..<2).compactMap { _ in peer.nextRequest() }
            mayAnswer.wait()
            for request in requests { peer.answer(request) }
            while let request = peer.nextRequest() { peer.answer(request) }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let cancelled = Task { await transport.send(server.post("cancelled")) }
        let kept = Task { await transport.send(server.post("kept")) }
        try await eventually { server.requestCount == 2 }
        cancelled.cancel()
        #expect(await cancelled.value.unknown == .cancelled)
        mayAnswer.open()
        #expect(await kept.value.answer?.body == Array("kept".utf8))
        #expect(await transport.send(server.post("next")).answer?.newConnections == 0)
        await transport.close()
    }

    @Test("closing waits for requests in flight and rejects waiting ones")
    func grace() async throws {
        let mayAnswer = Latch()
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                mayAnswer.wait()
                peer.answer(request)
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) {
            $0.window = 1
            $0.closeGrace = LongestWait.duration
        }
        let sending = Task { await transport.send((0..<5).map { server.post("\($0)") }) }
        try await eventually { server.requestCount == 1 }
        let closing = Task { await transport.close() }
        // A rejected request shows that the transport has begun to close.
        while await transport.send(TransferRequest(.get, url: "https://127.0.0.1:1/")).notSent != .closed {}
        mayAnswer.open()
        let outcomes = await sending.value
        #expect(outcomes.map { $0.answer?.status } == [200, nil, nil, nil, nil])
        #expect(outcomes.dropFirst().map(\.notSent) == Array(repeating: .closed, count: 4))
        await closing.value
        #expect(server.requestCount == 1)
    }

    @Test("requests in flight never exceed the window")
    func window() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                let others = peer.roundTrip().requests
                for other in [request] + others { peer.answer(other, body: "\(others.count + 1)") }
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.window = 3 }
        let answers = await transport.send((0..<60).map { server.post("\($0)") }).compactMap(\.answer)
        #expect(answers.count == 60)
        #expect(Set(answers.map { String(decoding: $0.body, as: UTF8.self) }).isSubset(of: ["1", "2", "3"]))
        await transport.close()
    }

    @Test("a host that does not answer does not delay another, even if its requests fill the window")
    func fairness() async throws {
        let silent = try FrameServer { peer in
            peer.send(.settings())
            while peer.nextRequest() != nil {}
        }
        defer { silent.stop() }
        let lively = try FrameServer.echoing(certificate: silent.certificate)
        defer { lively.stop() }
        let transport = try HTTP2Transport.trusting(silent.certificate) { $0.window = 2 }
        let stuck = Task { await transport.send((0..<50).map { silent.post("\($0)") }) }
        try await eventually { silent.requestCount == 2 }
        #expect(await transport.send((0..<50).map { lively.post("\($0)") }).compactMap(\.answer).count == 50)
        #expect(silent.requestCount == 2)
        stuck.cancel()
        _ = await stuck.value
        await transport.close()
    }

    @Test("an idle connection is closed for one to another host if the limit is reached")
    func eviction() async throws {
        let certificate = try TestCertificate()
        let servers = try (0..<4).map { _ in try FrameServer.echoing(certificate: certificate) }
        defer { for server in servers { server.stop() } }
        let transport = try HTTP2Transport.trusting(certificate) { $0.maxConnections = 2 }
        for server in servers { #expect(await transport.send(server.post()).answer != nil) }
        try await eventually { servers[0].endedCount == 1 && servers[1].endedCount == 1 }
        #expect(servers[3].endedCount == 0)
        let outcomes = await transport.send((0..<40).map { servers[$0 % 4].post("\($0)") })
        #expect(outcomes.compactMap(\.answer).count == 40)
        await transport.close()
    }

    @Test("20,000 requests pass through one connection in order")
    func many() async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let requests = (0..<20_000).map { server.post("\($0)") }
        let answers = await transport.send(requests).map { $0.answer?.body }
        let isSame = answers == requests.map(\.body)
        #expect(isSame)
        #expect(server.connectionCount == 1)
        await transport.close()
    }

    @Test("a transport without references releases its connections")
    func release() async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        var transport: HTTP2Transport? = try HTTP2Transport.trusting(server.certificate)
        #expect(await transport?.send(server.post()).answer != nil)
        #expect(server.endedCount == 0)
        transport = nil
        try await eventually { server.endedCount == 1 }
    }

    @Test("threads and sockets end with their transports")
    func leaks() async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let (descriptors, threads) = (OpenSockets.descriptors, OpenSockets.threads)
        for round in 0..<200 {
            var transport: HTTP2Transport? = try HTTP2Transport.trusting(server.certificate)
            if round % 10 == 0 { #expect(await transport?.send(server.post()).answer != nil) }
            if round % 2 == 0 { await transport?.close() }
            transport = nil
        }
        try await eventually { OpenSockets.count(connectedTo: server.port) == 0 }
        // Other tests open and close some meanwhile. A leak of one per transport would be 200.
        try await eventually { OpenSockets.descriptors < descriptors + 150 && OpenSockets.threads < threads + 150 }
    }
}
