import HTTPTransfer
import Synchronization
import Testing
import TestSupport

@Suite(
    "HTTP/2 peers with random frames",
    .limitedConcurrency,
    .enabled(if: TestCertificate.isAvailable),
    .timeLimit(.ofTest)
)
struct HostilePeerTests {
    private static let rounds = 120

    @Test("every request gets an outcome, whatever frames arrive")
    func mutations() async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("hostile peer: seed \(seed)")
        let chance = Mutex(SeededChance(seed))
        let server = try FrameServer { peer in
            var chance = chance.withLock { SeededChance($0.next()) }
            var mischief = FrameMutator(&chance)
            peer.send(mischief.spoil(.settings([.concurrentStreams: 50])))
            while let request = peer.nextRequest() {
                for _ in 0..<Int.random(in: 0...2, using: &mischief.chance) {
                    guard peer.send(mischief.randomFrame(near: request.stream)) else { return }
                }
                let head = Frame.headers(request.stream, [(":status", "200"), ("x", "y")])
                guard peer.send(mischief.spoil(head)),
                    peer.send(mischief.spoil(.data(request.stream, request.text, endsStream: true)))
                else { return }
                if Int.random(in: 0..<40, using: &mischief.chance) == 0 { return }
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate) {
            $0.patience = .milliseconds(200)
            $0.trust = .milliseconds(1)
        }
        let timeouts = TransferTimeouts(total: .milliseconds(400), connect: .milliseconds(400))
        var answered = 0
        for _ in 0..<Self.rounds {
            let outcomes = await transport.send((0..<20).map { server.post("\($0)", timeouts: timeouts) })
            #expect(outcomes.count == 20)
            answered += outcomes.compactMap(\.answer).count
        }
        // If no request had been answered, the test would have proved nothing.
        #expect(answered > 0)
        #expect(server.connectionCount > 10)
        await transport.close()
    }
}

/// Changes frames at random.
private struct FrameMutator {
    var chance: SeededChance

    init(_ chance: inout SeededChance) {
        self.chance = SeededChance(chance.next())
    }

    /// Returns the bytes of `frame`, in most cases unchanged.
    mutating func spoil(_ frame: Frame) -> [UInt8] {
        var bytes = frame.encoded
        switch Int.random(in: 0..<60, using: &chance) {
        case 0: bytes[Int.random(in: bytes.indices, using: &chance)] = .random(in: 0...255, using: &chance)
        case 1: bytes[Int.random(in: 0..<9, using: &chance)] ^= 1 << UInt8.random(in: 0...7, using: &chance)
        case 2: bytes.removeLast(Int.random(in: 1...bytes.count, using: &chance))
        case 3: bytes += bytes
        case 4: bytes.insert(contentsOf: bytes.prefix(5), at: Int.random(in: bytes.indices, using: &chance))
        default: break
        }
        return bytes
    }

    /// Returns a frame of a random kind on this stream, on another, or on none.
    mutating func randomFrame(near stream: UInt32) -> [UInt8] {
        let streams = [stream, 0, stream &+ 2, stream &- 2, 2, UInt32(Int32.max)]
        let harmless: [Frame] = [
            Frame(kind: .ping, payload: [0, 0, 0, 0, 0, 0, 0, 0]), .windowUpdate(0, by: 100),
            .settings([.concurrentStreams: .random(in: 0...100, using: &chance)]), .windowUpdate(stream, by: 1),
            .headers(stream, [(":status", "103")]), .reset(stream, code: .random(in: 0...14, using: &chance)),
            .settings([.initialWindow: .random(in: 0...UInt32(Int32.max), using: &chance)]),
            Frame(kind: nil, stream: stream, payload: [1, 2, 3]),
        ]
        let isWild = Int.random(in: 0..<8, using: &chance) == 0
        guard isWild else { return harmless[Int.random(in: harmless.indices, using: &chance)].encoded }
        let length = Int.random(in: 0...40, using: &chance)
        return Frame(
            kind: Frame.Kind.allCases.randomElement(using: &chance),
            flags: .random(in: 0...255, using: &chance),
            stream: streams[Int.random(in: streams.indices, using: &chance)],
            payload: (0..<length).map { _ in .random(in: 0...255, using: &chance) }
        ).encoded
    }
}
