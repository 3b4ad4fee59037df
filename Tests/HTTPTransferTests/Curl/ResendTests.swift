import HTTPTransfer
import TestSupport
import Testing

@Suite("Kept connections that close", .limitedConcurrency, .timeLimit(.ofTest))
struct ResendTests {
    /// Starts a server whose first connection answers one request, reads the second and closes.
    ///
    /// Later connections answer every request.
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

    @Test("a POST on a connection that closes is unknown and not repeated", arguments: [1, 300, 100_000])
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

    @Test("a POST without a body never uses a kept connection, on which libcurl could repeat it")
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

    @Test("a GET on a connection that closes is repeated on a new one")
    func get() async throws {
        let server = try treacherousServer()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        #expect(await transport.send(TransferRequest(.get, url: server.url("/1"))).answer != nil)
        #expect(await transport.send(TransferRequest(.get, url: server.url("/2"))).answer != nil)
        #expect(server.requests.map(\.path) == ["/1", "/2", "/2"])
        await transport.close()
    }

    @Test("a POST after an idle connection has closed is sent once, on a new connection")
    func idleDeath() async throws {
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.answer()
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        for path in ["/1", "/2", "/3"] {
            let outcome = await transport.send(TransferRequest(.post, url: server.url(path), body: [1]))
            // The connection may also close while the request is on its way. Then the outcome is unknown.
            #expect(outcome.answer?.newConnections == 1 || outcome.unknown == .connectionLost)
        }
        let paths = server.requests.map(\.path)
        #expect(Set(paths).count == paths.count)
        await transport.close()
    }
}
