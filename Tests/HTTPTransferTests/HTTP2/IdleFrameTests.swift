import TestSupport
import Testing

@testable import HTTPTransfer

@Suite(
    "HTTP/2 frames without progress",
    .limitedConcurrency,
    .enabled(if: TestCertificate.isAvailable),
    .timeLimit(.ofTest)
)
struct IdleFrameTests {
    /// The frames that a peer can send without end while a request waits for its answer.
    enum Flood: CaseIterable, Sendable {
        case interimHeads, emptyData, paddedData, windowUpdates, priorities, unknownFrames

        func frame(_ stream: UInt32) -> Frame {
            switch self {
            case .interimHeads: .headers(stream, [(":status", "103"), ("link", "x")])
            case .emptyData: .data(stream, "")
            case .paddedData: Frame(kind: .data, flags: 8, stream: stream, payload: [3, 0, 0, 0])
            case .windowUpdates: .windowUpdate(0, by: 1)
            case .priorities: Frame(kind: .priority, stream: stream, payload: [0, 0, 0, 0, 1])
            case .unknownFrames: Frame(kind: nil, stream: stream, payload: [1, 2, 3])
            }
        }
    }

    @Test("a peer that sends only such frames is given up", arguments: Flood.allCases)
    func flood(_ flood: Flood) async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            guard let request = peer.nextRequest() else { return }
            if flood == .emptyData || flood == .paddedData { peer.send(.headers(request.stream, [(":status", "200")])) }
            let many = (0..<1_000).flatMap { _ in flood.frame(request.stream).encoded }
            while peer.send(many) {}
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { _ in }
        let outcome = await transport.send([server.post()])[0]
        guard case .unknown(let error) = outcome else {
            Issue.record("\(flood): \(outcome)")
            return
        }
        #expect(error.code == .protocolViolation, "\(flood): \(error)")
        try await eventually("the connection is ended") { server.endedCount == server.connectionCount }
        await transport.close()
    }

    @Test("a few interim heads and empty frames are accepted, and every answer resets their count")
    func few() async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                for _ in 0..<IdleFrames.mostInterimHeads { peer.send(.headers(request.stream, [(":status", "103")])) }
                peer.send(.headers(request.stream, [(":status", "200")]))
                for _ in 0..<IdleFrames.mostEmptyFrames { peer.send(.data(request.stream, "")) }
                for _ in 0..<1_000 { peer.send(.windowUpdate(0, by: 1)) }
                peer.send(.data(request.stream, request.text, endsStream: true))
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) { $0.maxConnectionsPerHost = 1 }
        for number in 0..<40 {
            let outcome = await transport.send([server.post("\(number)")])[0]
            #expect(outcome.answer?.body == Array("\(number)".utf8))
        }
        #expect(server.connectionCount == 1)
        await transport.close()
    }
}
