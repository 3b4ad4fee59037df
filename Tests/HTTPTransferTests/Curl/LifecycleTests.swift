import Foundation
import HTTPTransfer
import Synchronization
import Testing
import TestSupport

@Suite("Lifecycle of a transport", .limitedConcurrency, .timeLimit(.ofTest))
struct LifecycleTests {
    /// The number of requests that a server serves at present, and the highest number so far.
    private final class Load: Sendable {
        private let counts = Mutex((current: 0, most: 0))
        var current: Int { counts.withLock { $0.current } }
        var most: Int { counts.withLock { $0.most } }

        func enter() {
            counts.withLock { counts in
                counts.current += 1
                counts.most = max(counts.most, counts.current)
            }
        }

        func leave() { counts.withLock { $0.current -= 1 } }
    }

    private func silentServer() throws -> RawServer {
        try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.waitForPeerToClose()
        }
    }

    @Test("requests in flight never exceed the connections, and waiting requests do not time out")
    func connections() async throws {
        let load = Load()
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                load.enter()
                Thread.sleep(forTimeInterval: 2.5)
                load.leave()
                connection.answer()
            }
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain { $0.connections = 2 }
        // Eight requests of 2.5 s, two at a time, take longer than the timeout of one request.
        let timeouts = TransferTimeouts(total: .milliseconds(9_500))
        let requests = (0..<8).map { _ in TransferRequest(.post, url: server.url(), body: [1], timeouts: timeouts) }
        let outcomes = await transport.send(requests)
        #expect(outcomes.compactMap(\.answer).count == 8)
        #expect(load.most == 2)
        await transport.close()
    }

    @Test("a cancelled batch returns immediately: sent requests are unknown, and waiting ones were not sent")
    func cancellation() async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                guard request.path != "/silent" else { return connection.waitForPeerToClose() }
                connection.answer()
            }
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain { $0.connections = 1 }
        let paths = ["/quick", "/silent", "/waiting", "/waiting"]
        let sending = Task {
            await transport.send(paths.map { TransferRequest(.post, url: server.url($0), body: [1]) })
        }
        try await eventually { server.requests.contains { $0.path == "/silent" } }
        sending.cancel()
        let outcomes = await sending.value
        #expect(outcomes.map { $0.answer?.status } == [200, nil, nil, nil])
        #expect(outcomes.map(\.unknown) == [nil, .cancelled, nil, nil])
        #expect(outcomes.map(\.notSent) == [nil, nil, .cancelled, .cancelled])

        let next = await transport.send(TransferRequest(.post, url: server.url("/quick"), body: [1]))
        #expect(next.answer?.status == 200)
        #expect(server.requests.filter { $0.path == "/waiting" }.isEmpty)
        await transport.close()
    }

    @Test("a task that was cancelled before it sends sends nothing")
    func cancelledBefore() async throws {
        let server = try silentServer()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let outcome = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await transport.send(TransferRequest(.post, url: server.url(), body: [1]))
        }.value
        #expect(outcome.notSent == .cancelled)
        #expect(server.connectionCount == 0)
        await transport.close()
    }

    @Test("a task that is cancelled while its connection is being established has sent nothing")
    func cancelledWhileConnecting() async throws {
        let (listener, port) = try TestSocket.listening(backlog: 0)
        let fillers = TestSocket.filling(port)
        defer { for descriptor in fillers + [listener] { close(descriptor) } }
        let transport = try CurlTransport.plain { $0.closeGrace = .zero }
        let before = OpenSockets.count(leadingTo: port)
        let request = TransferRequest(.post, url: "http://127.0.0.1:\(port)/", body: [1], timeouts: .generous)
        let sending = Task { await transport.send(request) }
        try await eventually { OpenSockets.count(leadingTo: port) > before }
        sending.cancel()
        #expect(await sending.value.notSent == .cancelled)
        await transport.close()
    }

    @Test("closing waits for requests in flight and rejects waiting ones")
    func closing() async throws {
        let mayAnswer = Mutex(false)
        let server = try RawServer { connection in
            while connection.readRequest() != nil {
                _ = blockUntil { mayAnswer.withLock { $0 } }
                connection.answer()
            }
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain {
            $0.closeGrace = LongestWait.duration
            $0.connections = 1
        }
        let sending = Task { await transport.send((0..<5).map { TransferRequest(.get, url: server.url("/\($0)")) }) }
        try await eventually { server.requests.count == 1 }
        let closing = Task { await transport.close() }
        // A rejected request shows that the transport has begun to close.
        while await transport.send(TransferRequest(.get, url: "http://127.0.0.1:1/")).notSent != .closed {}
        mayAnswer.withLock { $0 = true }
        let outcomes = await sending.value
        #expect(outcomes.map { $0.answer?.status } == [200, nil, nil, nil, nil])
        #expect(outcomes.dropFirst().map(\.notSent) == Array(repeating: .closed, count: 4))
        await closing.value
        #expect(server.requests.count == 1)
    }

    @Test("closing gives up requests that exceed the grace period, and releases the connection")
    func closeDuringFlight() async throws {
        let wasReleased = Mutex(false)
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.waitForPeerToClose()
            wasReleased.withLock { $0 = true }
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain { $0.closeGrace = .milliseconds(50) }
        let sending = Task { await transport.send(TransferRequest(.post, url: server.url(), body: [1])) }
        try await eventually { server.requests.count == 1 }
        await transport.close()
        #expect(await sending.value.unknown == .closed)
        try await eventually { wasReleased.withLock { $0 } }

        #expect(await transport.send(TransferRequest(.get, url: server.url())).notSent == .closed)
        await transport.close()
    }

    @Test("several tasks may close a transport at the same time")
    func closedTwice() async throws {
        let transport = try CurlTransport.plain()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<5 { group.addTask { await transport.close() } }
        }
        #expect(await transport.send(TransferRequest(.get, url: "http://127.0.0.1/")).notSent == .closed)
    }

    @Test("a transport without references releases its connections")
    func release() async throws {
        let wasReleased = Mutex(false)
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.answer() }
            wasReleased.withLock { $0 = true }
        }
        defer { server.stop() }
        var transport: CurlTransport? = try CurlTransport.plain()
        #expect(await transport?.send(TransferRequest(.get, url: server.url())).answer != nil)
        #expect(!wasReleased.withLock { $0 })
        transport = nil
        try await eventually { wasReleased.withLock { $0 } }
    }
}
