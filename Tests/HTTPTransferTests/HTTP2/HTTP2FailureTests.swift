import HTTPTransfer
import TestSupport
import Testing

/// Tests that both transports handle a faulty HTTP/2 peer in the same way.
@Suite(
    "Failures of HTTP/2 connections",
    .limitedConcurrency,
    .enabled(if: TestCertificate.isAvailable),
    .timeLimit(.ofTest)
)
struct HTTP2FailureTests {
    /// Starts a server that answers every request, but runs `second` for the second one.
    private func server(_ second: @escaping @Sendable (FramePeer, FramePeer.Request) -> Void) throws -> FrameServer {
        try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                if request.index == 1 { second(peer, request) } else { peer.answer(request) }
            }
        }
    }

    /// Sends three requests in turn and returns the outcome of the second.
    private func second(_ server: FrameServer, _ kind: TransportKind) async throws -> TransferOutcome {
        let transport = try kind.open(trusting: server.certificate)
        #expect(await transport.send(server.post("first")).answer?.version == .http2)
        let outcome = await transport.send(server.post("second"))
        #expect(await transport.send(server.post("third")).answer != nil)
        #expect(server.bodies == ["first", "second", "third"])
        await transport.close()
        return outcome
    }

    @Test("a POST whose stream is reset is unknown and not repeated", arguments: TransportKind.allCases, [1, 2, 8, 11])
    func reset(kind: TransportKind, code: UInt32) async throws {
        let server = try server { $0.send(.reset($1.stream, code: code)) }
        defer { server.stop() }
        #expect(try await second(server, kind).unknown != nil)
    }

    @Test("a POST on a connection that is lost is unknown and reaches the peer once", arguments: TransportKind.allCases)
    func death(kind: TransportKind) async throws {
        let server = try server { peer, _ in peer.cut() }
        defer { server.stop() }
        #expect(try await second(server, kind).unknown != nil)
    }

    @Test("a body that is cut off by a reset leaves the outcome unknown", arguments: TransportKind.allCases)
    func truncatedBody(kind: TransportKind) async throws {
        let server = try server { peer, request in
            peer.send(.headers(request.stream, [(":status", "200")]), .data(request.stream, "half of it"))
            peer.send(.reset(request.stream, code: 2))
        }
        defer { server.stop() }
        #expect(try await second(server, kind).unknown != nil)
    }

    @Test(
        "a body that is cut off by GOAWAY or the connection's end leaves the outcome unknown",
        arguments: TransportKind.allCases
    )
    func truncatedByEnd(kind: TransportKind) async throws {
        let server = try server { peer, request in
            peer.send(.headers(request.stream, [(":status", "200")]), .data(request.stream, "half of it"))
            peer.send(.goAway(lastStream: 0))
            peer.cut()
        }
        defer { server.stop() }
        #expect(try await second(server, kind).unknown != nil)
    }

    @Test("a body that is shorter than announced leaves the outcome unknown", arguments: TransportKind.allCases)
    func shortBody(kind: TransportKind) async throws {
        let server = try server { $0.answer($1, [("content-length", "100")], body: "short") }
        defer { server.stop() }
        #expect(try await second(server, kind).unknown != nil)
    }

    /// This test omits libcurl, which waits for the rest of the stream until the request's timeout.
    @Test("an endless head is a protocol violation")
    func hugeHead() async throws {
        let server = try server { peer, request in
            let field = ("x-many", String(repeating: "y", count: 1000))
            // Frames have at most 16 KiB, so the block continues in the next frame.
            let parts = (0..<8).map { part in
                let fields = (part == 0 ? [(":status", "200")] : []) + Array(repeating: field, count: 15)
                var frame = Frame.headers(request.stream, fields)
                frame.kind = part == 0 ? .headers : .continuation
                frame.flags = part == 7 ? Frame.endsHeaders : 0
                return frame
            }
            peer.send(parts.flatMap(\.encoded))
        }
        defer { server.stop() }
        #expect(try await second(server, .http2).unknown == .protocolViolation)
    }

    @Test("a missing answer ends at the total timeout, unknown", arguments: TransportKind.allCases)
    func silence(kind: TransportKind) async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                if request.text != "silent" { peer.answer(request) }
            }
        }
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        let brief = TransferTimeouts(total: .milliseconds(300), connect: .seconds(60))
        // The first request opens the connection, so that the second request's time is spent only on the missing
        // answer.
        #expect(await transport.send(server.post("first")).answer != nil)
        let outcomes = await transport.send([server.post("silent", timeouts: brief), server.post("other")])
        #expect(outcomes.first?.unknown == .timeout)
        #expect(outcomes.last?.answer != nil)
        #expect(await transport.send(server.post("next")).answer?.newConnections == 0)
        await transport.close()
    }

    @Test(
        "a GOAWAY that includes the request lets it finish, and the next request takes a new connection",
        arguments: TransportKind.allCases
    )
    func gracefulFarewell(kind: TransportKind) async throws {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() {
                if request.index == 0 { peer.send(.goAway(lastStream: request.stream)) }
                peer.answer(request)
            }
        }
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        #expect(await transport.send(server.post("first")).answer?.status == 200)
        #expect(await transport.send(server.post("second")).answer?.newConnections == 1)
        #expect(server.bodies == ["first", "second"])
        await transport.close()
    }

    /// libcurl cannot report that a peer rejected a request unprocessed.
    ///
    /// `HTTP2Transport` sends such a request again.
    @Test("a POST that the peer rejects or omits from GOAWAY is unknown with libcurl", arguments: [true, false])
    func refusedUnderCurl(byFarewell: Bool) async throws {
        let server = try server { peer, request in
            peer.send(byFarewell ? .goAway(lastStream: 1) : .reset(request.stream, code: 7))
        }
        defer { server.stop() }
        #expect(try await second(server, .curl).unknown != nil)
    }
}
