import Foundation
import HTTPTransfer
import TestSupport
import Testing

/// Tests that both transports handle the answers of an HTTP/2 peer in the same way.
@Suite("Answers over HTTP/2", .limitedConcurrency, .enabled(if: TestCertificate.isAvailable), .timeLimit(.ofTest))
struct AnswerContractTests {
    private func answer(
        _ kind: TransportKind,
        bodyLimit: Int = 64 * 1024,
        _ script: @escaping @Sendable (FramePeer, FramePeer.Request) -> Void
    ) async throws -> TransferAnswer? {
        let server = try FrameServer { peer in
            peer.send(.settings())
            while let request = peer.nextRequest() { script(peer, request) }
        }
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate) { $0.bodyLimit = bodyLimit }
        let outcome = await transport.send(server.post())
        #expect(outcome.error == nil)
        await transport.close()
        return outcome.answer
    }

    @Test("an answer has status, headers and body", arguments: TransportKind.allCases)
    func whole(kind: TransportKind) async throws {
        let answer = try await answer(kind) { $0.answer($1, status: 404, [("apns-id", "42")], body: "{}") }
        #expect(answer?.status == 404)
        #expect(answer?.headers["Apns-Id"] == "42")
        #expect(answer?.body == Array("{}".utf8))
        #expect(answer?.isBodyTruncated == false)
        #expect(answer?.version == .http2)
        #expect(answer?.newConnections == 1)
        #expect(answer?.retryAfterSeconds == nil)
    }

    @Test("an answer may have no body", arguments: TransportKind.allCases)
    func empty(kind: TransportKind) async throws {
        let answer = try await answer(kind) { peer, request in
            peer.send(.headers(request.stream, [(":status", "204")], endsStream: true))
        }
        #expect(answer?.status == 204)
        #expect(answer?.body == [])
    }

    @Test("an interim answer is skipped with its headers", arguments: TransportKind.allCases)
    func interim(kind: TransportKind) async throws {
        let answer = try await answer(kind) { peer, request in
            peer.send(.headers(request.stream, [(":status", "103"), ("early", "yes"), ("retry-after", "9")]))
            peer.answer(request, [("final", "yes")])
        }
        #expect(answer?.status == 200)
        #expect(answer?.headers["final"] == "yes")
        #expect(answer?.headers["early"] == nil)
        #expect(answer?.retryAfterSeconds == nil)
    }

    @Test("trailers are dropped", arguments: TransportKind.allCases)
    func trailers(kind: TransportKind) async throws {
        let answer = try await answer(kind) { peer, request in
            peer.send(.headers(request.stream, [(":status", "200"), ("head", "yes")]), .data(request.stream, "body"))
            peer.send(.headers(request.stream, [("tail", "yes"), ("retry-after", "9")], endsStream: true))
        }
        #expect(answer?.body == Array("body".utf8))
        #expect(answer?.headers["head"] == "yes")
        #expect(answer?.headers["tail"] == nil)
        #expect(answer?.retryAfterSeconds == nil)
    }

    @Test("a body over the limit is cut and marked", arguments: TransportKind.allCases, [9, 10, 11])
    func cap(kind: TransportKind, length: Int) async throws {
        let answer = try await answer(kind, bodyLimit: 10) { peer, request in
            peer.answer(request, body: String(repeating: "x", count: length))
        }
        #expect(answer?.body.count == min(length, 10))
        #expect(answer?.isBodyTruncated == (length > 10))
    }

    @Test("a redirect is returned and never followed", arguments: TransportKind.allCases)
    func redirect(kind: TransportKind) async throws {
        let answer = try await answer(kind) { $0.answer($1, status: 302, [("location", "https://localhost:1/")]) }
        #expect(answer?.status == 302)
        #expect(answer?.headers["location"] == "https://localhost:1/")
    }

    @Test("a Retry-After is read", arguments: TransportKind.allCases)
    func retryAfter(kind: TransportKind) async throws {
        let answer = try await answer(kind) { $0.answer($1, status: 503, [("retry-after", "120")]) }
        #expect(answer?.retryAfterSeconds == 120)
    }

    /// This test omits libcurl, which sends the body first.
    @Test("an answer may arrive before the request's body has been sent")
    func early() async throws {
        let server = try FrameServer { peer in
            // The body does not fit into the stream's window, and the peer sends no update.
            peer.send(.settings([.initialWindow: 10]))
            while let frame = peer.next() {
                _ = peer.take(frame)
                guard frame.kind == .headers else { continue }
                peer.send(.headers(frame.stream, [(":status", "413")], endsStream: true))
            }
        }
        defer { server.stop() }
        let transport = try HTTP2Transport.trusting(server.certificate)
        for _ in 0..<3 {
            #expect(await transport.send(server.post(String(repeating: "x", count: 100_000))).answer?.status == 413)
        }
        #expect(server.connectionCount == 1)
        await transport.close()
    }
}
