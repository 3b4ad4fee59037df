import HTTPTransfer
import Synchronization
import TestSupport
import Testing

/// Tests of the warm-up: a new connection carries one request until an answer has begun.
@Suite("Warm-up of a connection", .limitedConcurrency, .enabled(if: TestCertificate.isAvailable), .timeLimit(.ofTest))
struct WarmUpTests {
    private func posts(_ server: FrameServer, _ count: Int) -> [TransferRequest] {
        (0..<count).map { server.post(String(100 + $0)) }
    }

    /// The numbers of further requests that had arrived while an early request was unanswered.
    private final class Crowd: Sendable {
        private let counts = Mutex<[Int]>([])

        var seen: [Int] { counts.withLock { $0 } }

        func note(_ count: Int) { counts.withLock { $0.append(count) } }
    }

    @Test("the other requests wait for the head of the first answer, whatever its status, and then go together")
    func oneFirst() async throws {
        let crowd = Crowd()
        let server = try FrameServer { peer in
            peer.send(.settings())
            guard let first = peer.nextRequest() else { return }
            crowd.note(peer.roundTrip().requests.count)
            // The head is sufficient. The body follows after the other requests.
            peer.send(.headers(first.stream, [(":status", "403")]))
            let rest = (0..<9).compactMap { _ in peer.nextRequest() }
            crowd.note(rest.count)
            peer.send(.data(first.stream, "late", endsStream: true))
            for request in rest { peer.answer(request) }
            peer.waitForPeerToClose()
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.warmsUp = true }
        let answers = await transport.send(posts(server, 10)).map(\.answer)
        #expect(answers.map { $0?.status } == [403] + Array(repeating: 200, count: 9))
        #expect(crowd.seen == [0, 9])
        await transport.close()
    }

    @Test("no other connection opens during the warm-up")
    func oneConnection() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            guard let first = peer.nextRequest() else { return }
            // The client's loop has run several times, and could have opened another connection.
            for _ in 0..<5 { _ = peer.roundTrip() }
            peer.answer(first)
            while let request = peer.nextRequest() { peer.answer(request) }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) {
            $0.warmsUp = true
            $0.maxConnectionsPerHost = 4
        }
        let outcomes = await transport.send(posts(server, 10))
        #expect(outcomes.allSatisfy { $0.answer?.status == 200 })
        #expect(server.connectionCount == 1)
        await transport.close()
    }

    /// The ways in which a first request can fail.
    enum Failure: CaseIterable, Sendable {
        case refused, reset, lost
    }

    @Test("a first request that fails is followed by a single next one", arguments: Failure.allCases)
    func failingFirst(_ failure: Failure) async throws {
        let crowd = Crowd()
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                if request.index < 3 { crowd.note(peer.roundTrip().requests.count) }
                switch failure {
                case _ where request.index > 1: peer.answer(request)
                case .refused: peer.send(.reset(request.stream, code: 7))
                case .reset: peer.send(.reset(request.stream, code: 2))
                case .lost: return
                }
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.warmsUp = true }
        let outcomes = await transport.send(posts(server, 6))
        let lost = failure == .refused ? 0 : 2
        #expect(outcomes.count { $0.unknown == .connectionLost } == lost)
        #expect(outcomes.count { $0.answer?.status == 200 } == 6 - lost)
        #expect(crowd.seen == [0, 0, 0])
        await transport.close()
    }

    @Test("a first request that times out is followed by the next one")
    func silentFirst() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                if request.text != "hasty" { peer.answer(request) }
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.warmsUp = true }
        let hasty = server.post("hasty", timeouts: TransferTimeouts(total: .milliseconds(200), connect: .seconds(60)))
        let outcomes = await transport.send([hasty] + posts(server, 3))
        #expect(outcomes.first?.unknown == .timeout)
        #expect(outcomes.dropFirst().allSatisfy { $0.answer?.status == 200 })
        await transport.close()
    }

    @Test("retired connections finish their requests, and later requests use new ones")
    func retired() async throws {
        let mayAnswer = Latch()
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                if request.text == "slow" { mayAnswer.wait() }
                peer.answer(request)
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.maxConnectionsPerHost = 2 }
        async let slow = transport.send(server.post("slow"))
        try await eventually { server.requestCount == 1 }
        transport.retireConnections()
        let next = await transport.send(server.post("next"))
        #expect(next.answer?.newConnections == 1)
        mayAnswer.open()
        #expect(await slow.answer?.status == 200)
        transport.retireConnections()
        #expect(await transport.send(server.post("last")).answer?.newConnections == 1)
        #expect(server.requests.map(\.connection) == [0, 1, 2])
        await transport.close()
    }
}
