import HTTPTransfer
import Testing

@Suite(
    "HTTP/2 connections that go wrong",
    .enabled(if: ScriptedHTTP2Server.isAvailable, "openssl is needed: FAILURES OF HTTP/2 ARE NOT TESTED"),
    .timeLimit(.minutes(5))
)
struct HTTP2FailureTests {
    private let timeouts = TransferTimeouts(total: .seconds(5))

    private func transport(_ server: ScriptedHTTP2Server) throws -> CurlTransport {
        var options = CurlTransportOptions(name: "failures")
        options.authoritiesFile = server.certificate.certificateFile
        options.maxConnectionsPerHost = 1
        return try CurlTransport(options)
    }

    private func post(_ server: ScriptedHTTP2Server) -> TransferRequest {
        TransferRequest(.post, url: "https://localhost:\(server.port)/", body: [1, 2, 3], timeouts: timeouts)
    }

    @Test("a new connection gets one request alone, until the peer has told how many it takes")
    func firstRequest() async throws {
        let server = try await ScriptedHTTP2Server(withholdsSettings: true) { _ in [.answer()] }
        let transport = try transport(server)
        let outcomes = await transport.send((0..<20).map { _ in post(server) })
        #expect(outcomes.compactMap(\.error).map(\.text) == [])
        #expect(server.requests.count == 20)
        #expect(server.requests.filter(\.precedesSettings).count == 1)
        await transport.close()
    }

    @Test("a POST whose stream is reset is unknown and not repeated", arguments: [UInt32(1), 2, 8, 11])
    func reset(code: UInt32) async throws {
        let server = try await ScriptedHTTP2Server { $0.index == 1 ? [.reset(code: code)] : [.answer()] }
        let transport = try transport(server)
        #expect(await transport.send(post(server)).answer?.version == .http2)
        #expect(await transport.send(post(server)).unknown != nil)
        #expect(server.requestCount == 2)
        await transport.close()
    }

    @Test("a POST whose stream is refused is unknown and not repeated by itself")
    func refusedStream() async throws {
        let server = try await ScriptedHTTP2Server { $0.index == 1 ? [.reset(code: 7)] : [.answer()] }
        let transport = try transport(server)
        #expect(await transport.send(post(server)).answer != nil)
        #expect(await transport.send(post(server)).unknown == .connectionLost)
        #expect(server.requestCount == 2)
        await transport.close()
    }

    @Test("a POST that a farewell leaves out is unknown and not repeated by itself")
    func goAway() async throws {
        let server = try await ScriptedHTTP2Server { $0.index == 1 ? [.goAway(lastStream: 1)] : [.answer()] }
        let transport = try transport(server)
        #expect(await transport.send(post(server)).answer != nil)
        #expect(await transport.send(post(server)).unknown != nil)
        #expect(server.requestCount == 2)
        #expect(await transport.send(post(server)).answer?.newConnections == 1)
        await transport.close()
    }

    @Test("a farewell that includes the request lets it end, and the next one takes a new connection")
    func gracefulGoAway() async throws {
        let server = try await ScriptedHTTP2Server { request in
            request.index == 0
                ? [.goAway(lastStream: request.stream), .answer()]
                : [.answer()]
        }
        let transport = try transport(server)
        #expect(await transport.send(post(server)).answer?.status == 200)
        #expect(await transport.send(post(server)).answer?.newConnections == 1)
        #expect(server.requestCount == 2)
        await transport.close()
    }

    @Test("a POST on a connection that dies is unknown and reaches the peer once")
    func death() async throws {
        let server = try await ScriptedHTTP2Server { $0.index == 1 ? [.hangUp] : [.answer()] }
        let transport = try transport(server)
        #expect(await transport.send(post(server)).answer != nil)
        #expect(await transport.send(post(server)).unknown != nil)
        #expect(server.requestCount == 2)
        await transport.close()
    }

    @Test("a body that is cut off by a reset is no answer")
    func truncatedBody() async throws {
        let server = try await ScriptedHTTP2Server { request in
            [.answer(endsStream: false, body: "half of it"), .reset(code: 2)]
        }
        let transport = try transport(server)
        #expect(await transport.send(post(server)).unknown != nil)
        #expect(server.requestCount == 1)
        await transport.close()
    }

    @Test("a body that is cut off by a farewell is no answer")
    func truncatedByGoAway() async throws {
        let server = try await ScriptedHTTP2Server { request in
            [.answer(endsStream: false, body: "half of it"), .goAway(lastStream: 0)]
        }
        let transport = try transport(server)
        #expect(await transport.send(post(server)).unknown != nil)
        #expect(server.requestCount == 1)
        await transport.close()
    }
}
