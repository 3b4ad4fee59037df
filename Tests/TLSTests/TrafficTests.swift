import Testing
import TLS

@Suite("TLS traffic")
struct TrafficTests {
    private func connected() throws -> ConnectionPair {
        let authority = try TestAuthority()
        let ends = try ConnectionPair(authority.client(), authority.server(), host: "localhost")
        let outcome = ends.shakeHands()
        #expect(outcome.client == .done(0))
        #expect(outcome.server == .done(0))
        return ends
    }

    @Test("more bytes than the socket takes are sent in pieces, and the rest may come from another address")
    func partialWrites() throws {
        let ends = try connected()
        let bytes = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var sent = 0
        var blocks = 0
        var received: [UInt8] = []
        while received.count < bytes.count {
            // A copy each time, so that the bytes have another address than in the previous call.
            let rest = Array(bytes[sent...])
            let progress = rest.isEmpty ? .needsWriting : rest.withUnsafeBytes { ends.client.write($0) }
            switch progress {
            case .done(let count): sent += count
            case .needsWriting:
                blocks += 1
                let (piece, last) = ConnectionPair.read(ends.server)
                #expect(last == .needsReading)
                received += piece
            case .needsReading, .ended:
                Issue.record("\(progress) after \(sent) bytes")
                return
            }
        }
        #expect(received == bytes)
        #expect(blocks > 1)
    }

    @Test("collected output is sent by a flush, in pieces if the socket takes no more")
    func collectedOutput() throws {
        let ends = try connected()
        ends.client.collectOutput(atMost: 1 << 16)
        let sentBefore = ends.client.sentBytes
        #expect([UInt8](repeating: 7, count: 20_000).withUnsafeBytes { ends.client.write($0) } == .done(16_384))
        #expect(ConnectionPair.read(ends.server).bytes.isEmpty)
        #expect(ends.client.sentBytes == sentBefore)
        #expect(ends.client.flush() == .done(0))
        #expect(ends.client.sentBytes > sentBefore + 16_384)
        #expect(ConnectionPair.read(ends.server).bytes == Array(repeating: 7, count: 16_384))

        let bytes = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var sent = 0
        var blocks = 0
        var received: [UInt8] = []
        while received.count < bytes.count {
            let isWritten = sent == bytes.count
            switch isWritten ? ends.client.flush() : bytes[sent...].withUnsafeBytes({ ends.client.write($0) }) {
            case .done(let count): sent += count
            case .needsWriting:
                blocks += 1
                received += ConnectionPair.read(ends.server).bytes
            case .needsReading, .ended:
                Issue.record("ended after \(sent) bytes")
                return
            }
            if isWritten { received += ConnectionPair.read(ends.server).bytes }
        }
        #expect(received == bytes)
        #expect(blocks > 1)
    }

    @Test("a flush into a cut connection ends it, with the reason")
    func flushIntoCut() throws {
        let ends = try connected()
        ends.client.collectOutput(atMost: 1 << 16)
        #expect([UInt8(1)].withUnsafeBytes { ends.client.write($0) } == .done(1))
        ends.cutServer()
        #expect(ends.client.flush() == .ended)
        #expect(ends.client.ending != nil)
        #expect(ends.client.ending != "the peer closed it")
    }

    @Test("bytes that OpenSSL has already read from the socket are reported")
    func heldBytes() throws {
        let ends = try connected()
        _ = ConnectionPair.read(ends.client)
        #expect(!ends.client.holdsBytes)
        for _ in 0..<3 { #expect([1, 2, 3].withUnsafeBytes { ends.server.write($0) } == .done(3 * 8)) }
        var small = [UInt8](repeating: 0, count: 24)
        #expect(small.withUnsafeMutableBytes { ends.client.read(into: $0) } == .done(24))
        #expect(ends.client.holdsBytes)
        #expect(ConnectionPair.read(ends.client).bytes.count == 48)
        #expect(!ends.client.holdsBytes)
    }

    @Test("a goodbye ends a connection in good order")
    func goodbye() throws {
        let ends = try connected()
        ends.server.sayGoodbye()
        #expect(ConnectionPair.read(ends.client).last == .ended)
        #expect(ends.client.ending == "the peer closed it")
    }

    @Test("a cut ends a connection in both directions")
    func cut() throws {
        let ends = try connected()
        ends.cutServer()
        #expect(ConnectionPair.read(ends.client).last == .ended)
        #expect([UInt8(1)].withUnsafeBytes { ends.client.write($0) } == .ended)
        #expect(ends.client.ending != nil)
    }
}
