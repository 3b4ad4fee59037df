import Foundation
import HTTPTransfer
import TestSupport
import Testing

@Suite("Failures", .limitedConcurrency, .timeLimit(.ofTest))
struct FailureTests {
    private let brief = TransferTimeouts(total: .milliseconds(300), connect: .milliseconds(300))

    /// Sends one POST with a secret in its path, to a server that runs `script` after it has read the request.
    private func outcome(
        timeouts: TransferTimeouts = TransferTimeouts(),
        _ script: @escaping @Sendable (RawConnection) -> Void
    ) async throws -> TransferOutcome {
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            script(connection)
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let request = TransferRequest(.post, url: server.url("/secret"), body: [1, 2, 3], timeouts: timeouts)
        let outcome = await transport.send(request)
        #expect(outcome.error?.text.contains("secret") != true)
        #expect(server.requests.count == 1)
        await transport.close()
        return outcome
    }

    @Test("a connection that ends without an answer leaves the outcome unknown")
    func noAnswer() async throws {
        #expect(try await outcome { _ in }.unknown == .connectionLost)
    }

    @Test("an answer that ends within its head leaves the outcome unknown")
    func halfHead() async throws {
        let outcome = try await outcome { $0.send("HTTP/1.1 200 OK\r\nContent-Le") }
        #expect(outcome.unknown == .incompleteAnswer)
    }

    @Test("an answer that ends within its body leaves the outcome unknown")
    func halfBody() async throws {
        let outcome = try await outcome { $0.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") }
        #expect(outcome.unknown == .incompleteAnswer)
    }

    @Test("an answer that ends within a chunk leaves the outcome unknown")
    func halfChunk() async throws {
        let outcome = try await outcome { $0.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf") }
        #expect(outcome.unknown != nil)
    }

    @Test("an answer that is not HTTP leaves the outcome unknown")
    func noHTTP() async throws {
        let outcome = try await outcome { $0.send("220 mail.example.com ESMTP\r\n") }
        #expect(outcome.unknown == .protocolViolation)
    }

    @Test("an endless head leaves the outcome unknown")
    func endlessHead() async throws {
        let outcome = try await outcome { connection in
            connection.send("HTTP/1.1 200 OK\r\n")
            while connection.send("x-\(UUID().uuidString): \(String(repeating: "y", count: 1000))\r\n") {}
        }
        #expect(outcome.unknown != nil)
    }

    @Test("a missing answer ends at the total timeout with an unknown outcome")
    func silence() async throws {
        #expect(try await outcome(timeouts: brief) { $0.waitForPeerToClose() }.unknown == .timeout)
    }

    @Test("an answer that arrives too slowly ends at the total timeout with an unknown outcome")
    func drip() async throws {
        let outcome = try await outcome(timeouts: brief) { connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while connection.send("x") { Thread.sleep(forTimeInterval: 0.01) }
        }
        #expect(outcome.unknown == .timeout)
    }

    @Test("a host that does not accept connections ends at the connect timeout, and the request was not sent")
    func blackHole() async throws {
        let (listener, port) = try TestSocket.listening(backlog: 0)
        let fillers = TestSocket.filling(port)
        defer { for descriptor in fillers + [listener] { close(descriptor) } }
        let transport = try CurlTransport.plain()
        let timeouts = TransferTimeouts(total: LongestWait.duration, connect: .milliseconds(300))
        let request = TransferRequest(.post, url: "http://127.0.0.1:\(port)/", body: [1], timeouts: timeouts)
        #expect(await transport.send(request).notSent == .timeout)
        await transport.close()
    }

    @Test("a request to a port without a listener was not sent")
    func refused() async throws {
        let port = try TestSocket.unusedPort()
        let transport = try CurlTransport.plain()
        let outcomes = await transport.send(
            (0..<20).map { _ in TransferRequest(.post, url: "http://127.0.0.1:\(port)/secret", body: [1]) }
        )
        #expect(outcomes.map(\.notSent) == Array(repeating: .connect, count: 20))
        #expect(outcomes.first?.error?.text.contains("POST to 127.0.0.1:\(port)") == true)
        #expect(outcomes.first?.error?.text.contains("secret") == false)
        await transport.close()
    }

    @Test("a request to a name without an address was not sent")
    func unknownName() async throws {
        let transport = try CurlTransport.plain()
        // The resolver itself rejects a label of more than 63 letters, without a query.
        let host = String(repeating: "a", count: 64) + ".invalid"
        let outcome = await transport.send(TransferRequest(.post, url: "https://\(host)/", body: [1]))
        #expect(outcome.notSent == .nameLookup)
        await transport.close()
    }
}
