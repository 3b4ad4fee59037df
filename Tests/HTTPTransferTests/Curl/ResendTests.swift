import HTTPTransfer
import TestSupport
import Testing

@Suite("A kept connection that dies", .inTurn, .timeLimit(.ofTest))
struct ResendTests {
    /// Answers the first request of its first connection, reads the second and closes; answers on every other one.
    private func treacherousServer() throws -> RawServer {
        try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.answer()
            while connection.readRequest() != nil {
                guard connection.index > 0 else { return }
                connection.answer()
            }
        }
    }

    @Test("takes a POST with it, which is not sent again: the outcome is unknown", arguments: [1, 300, 100_000])
    func post(length: Int) async throws {
        let server = try treacherousServer()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let body = [UInt8](repeating: 7, count: length)
        #expect(await transport.send(TransferRequest(.post, url: server.url("/1"), body: body)).answer != nil)
        let second = await transport.send(TransferRequest(.post, url: server.url("/2"), body: body))
        #expect(second.unknown == .connectionLost)
        let third = await transport.send(TransferRequest(.post, url: server.url("/3"), body: body))
        #expect(third.answer?.newConnections == 1)
        #expect(server.requests.map(\.path) == ["/1", "/2", "/3"])
        await transport.close()
    }

    @Test("is not used for a POST without a body, which could be repeated unseen")
    func emptyPost() async throws {
        let server = try treacherousServer()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        for path in ["/1", "/2", "/3"] {
            let answer = await transport.send(TransferRequest(.post, url: server.url(path))).answer
            #expect(answer?.newConnections == 1)
        }
        #expect(server.requests.map(\.path) == ["/1", "/2", "/3"])
        #expect(server.requests.map(\.connection) == [0, 1, 2])
        await transport.close()
    }

    @Test("is replaced unseen under a GET, which is safe to repeat")
    func get() async throws {
        let server = try treacherousServer()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        #expect(await transport.send(TransferRequest(.get, url: server.url("/1"))).answer != nil)
        #expect(await transport.send(TransferRequest(.get, url: server.url("/2"))).answer != nil)
        #expect(server.requests.map(\.path) == ["/1", "/2", "/2"])
        await transport.close()
    }

    @Test("while it is idle costs the next POST nothing: it goes out once, on a new one")
    func idleDeath() async throws {
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.answer()
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        for path in ["/1", "/2", "/3"] {
            let outcome = await transport.send(TransferRequest(.post, url: server.url(path), body: [1]))
            // The end of the connection may also cross the request on its way; then nobody can know.
            #expect(outcome.answer?.newConnections == 1 || outcome.unknown == .connectionLost)
        }
        let paths = server.requests.map(\.path)
        #expect(Set(paths).count == paths.count)
        await transport.close()
    }
}
