import HTTPTransfer
import TestSupport
import Testing

/// Tests that requests which a peer did not process are sent again, and that requests which it may have processed never
/// are.
@Suite(
    "Requests that an HTTP/2 peer rejects",
    .limitedConcurrency,
    .enabled(if: TestCertificate.isAvailable),
    .timeLimit(.ofTest)
)
struct RefusalTests {
    private func numbers(_ count: Int) -> [String] { (0..<count).map { String(100 + $0) } }

    @Test("requests after a GOAWAY's last stream are sent again, and each is processed once")
    func farewell() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            guard peer.index == 0 else {
                while let request = peer.nextRequest() { peer.answer(request) }
                return
            }
            // The first ten are processed. The peer announces this after it has received all of them.
            let requests = (0..<30).compactMap { _ in peer.nextRequest() }
            peer.send(.goAway(lastStream: requests[9].stream))
            for request in requests.prefix(10) { peer.answer(request, body: "early \(request.text)") }
            peer.waitForPeerToClose()
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let answers = await transport.send(numbers(30).map { server.post($0) }).map { $0.answer?.body ?? [] }
        let expected = numbers(10).map { "early \($0)" } + numbers(30).dropFirst(10)
        #expect(answers.map { String(decoding: $0, as: UTF8.self) } == expected)
        #expect(server.requests.filter { $0.connection == 1 }.map(\.text).sorted() == Array(numbers(30).dropFirst(10)))
        await transport.close()
    }

    @Test("a GOAWAY in two steps loses no request")
    func gracefulFarewell() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            var answered = 0
            while let request = peer.nextRequest() {
                answered += 1
                if peer.index == 0, answered == 5 { peer.send(.goAway(lastStream: UInt32(Int32.max))) }
                peer.answer(request)
                guard peer.index == 0, answered == 5 else { continue }
                // Requests that were sent before the client received the GOAWAY are still processed.
                let rest = peer.roundTrip().requests
                for request in rest { peer.answer(request) }
                peer.send(.goAway(lastStream: rest.last?.stream ?? request.stream))
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.window = 8 }
        let outcomes = await transport.send(numbers(100).map { server.post($0) })
        #expect(outcomes.map { $0.answer?.body } == numbers(100).map { Array($0.utf8) })
        #expect(server.bodies == numbers(100))
        await transport.close()
    }

    @Test("a rejected stream is sent again", arguments: [1, 2, 3])
    func refused(times: Int) async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                if request.index < times { peer.send(.reset(request.stream, code: 7)) } else { peer.answer(request) }
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        #expect(await transport.send(server.post()).answer != nil)
        #expect(server.requestCount == times + 1)
        await transport.close()
    }

    @Test("a request that is rejected repeatedly was not sent")
    func alwaysRefused() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() { peer.send(.reset(request.stream, code: 7)) }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let outcomes = await transport.send(numbers(10).map { server.post($0) })
        #expect(outcomes.map(\.notSent) == Array(repeating: .connectionLost, count: 10))
        #expect(server.requestCount == 40)
        await transport.close()
    }

    @Test("a request that is rejected after its answer has begun is unknown", arguments: [true, false])
    func refusedTooLate(byFarewell: Bool) async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                peer.send(.headers(request.stream, [(":status", "200")]))
                peer.send(byFarewell ? .goAway(lastStream: 0) : .reset(request.stream, code: 7))
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        #expect(await transport.send(server.post()).unknown == .connectionLost)
        #expect(server.requestCount == 1)
        await transport.close()
    }

    @Test("waiting requests fail as not sent if the peer sends GOAWAY on every new connection")
    func farewellFirst() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings(), .goAway(lastStream: 0, code: 11))
            peer.waitForPeerToClose()
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let outcomes = await transport.send(numbers(20).map { server.post($0) })
        #expect(outcomes.map(\.notSent) == Array(repeating: .connectionLost, count: 20))
        // It is random whether a request is sent before the GOAWAY is read.
        #expect(server.connectionCount <= 4)
        await transport.close()
    }

    @Test("a peer like Apple's gets one stream until its first answer, then as many as it allows")
    func oneThenMany() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings([.concurrentStreams: 1]))
            guard let first = peer.nextRequest() else { return }
            // No other request has been sent.
            let early = peer.roundTrip().frames.filter { $0.kind == .headers }
            peer.answer(first, body: "\(early.count)")
            peer.send(.settings([.concurrentStreams: 1000]))
            var open = (0..<39).compactMap { _ in peer.nextRequest() }
            while let request = open.popLast() { peer.answer(request) }
            peer.waitForPeerToClose()
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let outcomes = await transport.send(numbers(40).map { server.post($0) })
        #expect(outcomes.first?.answer?.body == Array("0".utf8))
        #expect(outcomes.compactMap(\.answer).count == 40)
        #expect(server.connectionCount == 1)
        #expect(server.bodies == numbers(40))
        await transport.close()
    }

    @Test("a peer that lowers its stream limit gets at most that number")
    func lowered() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings([.concurrentStreams: 50]))
            let many = (0..<50).compactMap { _ in peer.nextRequest() }
            peer.send(.settings([.concurrentStreams: 2]))
            _ = peer.roundTrip()
            for request in many { peer.answer(request) }
            while let request = peer.nextRequest() {
                let others = peer.roundTrip().requests
                // At most one other request.
                for other in [request] + others { peer.answer(other, body: "\(others.count)") }
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        let answers = await transport.send(numbers(100).map { server.post($0) }).map(\.answer)
        #expect(answers.compactMap { $0 }.count == 100)
        #expect(
            answers.dropFirst(50).allSatisfy { ["0", "1"].contains(String(decoding: $0?.body ?? [], as: UTF8.self)) }
        )
        await transport.close()
    }

    @Test("a second connection opens only when the streams of the first are used up")
    func secondConnection() async throws {
        let mayAnswer = Latch()
        let server = try FrameServer { peer in
            peer.send(.settings([.concurrentStreams: 3]))
            while let request = peer.nextRequest() {
                if request.text != "quick" { mayAnswer.wait() }
                peer.answer(request)
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.maxConnectionsPerHost = 2 }
        for _ in 0..<5 { #expect(await transport.send(server.post("quick")).answer != nil) }
        #expect(server.connectionCount == 1)
        async let sending = transport.send(numbers(8).map { server.post($0) })
        try await eventually { server.connectionCount == 2 && server.requestCount > 6 }
        mayAnswer.open()
        #expect(await sending.compactMap(\.answer).count == 8)
        #expect(server.connectionCount == 2)
        await transport.close()
    }

    @Test("bytes that are not HTTP/2 are a protocol violation at every stage")
    func violations() async throws {
        let garbage = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        let first = try FrameServer { peer in
            peer.send(garbage)
            peer.waitForPeerToClose()
        }
        defer { first.stop() }
        let later = try FrameServer { peer in
            peer.send(.settings())
            _ = peer.nextRequest()
            peer.send(garbage)
            peer.waitForPeerToClose()
        }
        defer { later.stop() }
        #expect(try await outcome(first).notSent == .protocolViolation)
        #expect(try await outcome(later).unknown == .protocolViolation)
    }

    private func outcome(_ server: FrameServer) async throws -> TransferOutcome {
        let transport = try HTTP2Transport.trusting(server.certificate)
        let outcome = await transport.send(server.post())
        await transport.close()
        return outcome
    }
}
