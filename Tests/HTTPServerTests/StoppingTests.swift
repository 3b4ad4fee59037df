import Foundation
import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Starting and stopping", .limitedConcurrency, .timeLimit(.ofTest))
struct StoppingTests {
    /// Longer than any machine delays a test's next step.
    private static let patience = LongestWait.duration

    /// Returns the error with which a server fails to start at the address, or `nil` if it starts.
    private func failure(of address: ListenAddress) async -> HTTPServerError? {
        do {
            await (try HTTPServer.start(listen: address) { _ in .text("") }).stop()
            return nil
        } catch {
            return error as? HTTPServerError
        }
    }

    @Test("a request in progress is answered during a stop, and new connections are refused")
    func graceful() async throws {
        let release = DrainSignal()
        let server = try HTTPServer.start(listen: .anyLoopback) { _ in
            await release.wait()
            return .text("done")
        }
        let port = server.address.port
        async let answer = get(port, "/")
        try await eventually { server.activeRequests == 1 }
        async let stop: Void = server.stop(grace: Self.patience)
        try await eventually { await withClient(port) { _ in } == nil }
        release.fire()
        #expect(await answer.content == "done")
        await stop
        #expect(server.activeRequests == 0)
    }

    @Test("an open connection gets 503 for a request during a stop")
    func keepAlive() async throws {
        let release = DrainSignal()
        let slowBegan = DrainSignal()
        // The connection is idle between its two requests.
        let limits = HTTPLimits(receiveTimeout: Self.patience)
        let server = try HTTPServer.start(listen: .anyLoopback, limits: limits) { request in
            if request.target.segments == ["slow"] {
                slowBegan.fire()
                await release.wait()
            }
            return .text("done")
        }
        let port = server.address.port
        let firstAnswered = DrainSignal()
        async let slow = get(port, "/slow")
        async let second = withClient(port) { client in
            client.send("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n")
            let first = client.read(until: "done").status
            firstAnswered.fire()
            _ = blockUntil { RawClient(port: port) == nil }
            client.send("GET /quick HTTP/1.1\r\nHost: h\r\n\r\n")
            let answer = client.readAll().status
            release.fire()
            return [first, answer]
        }
        try await eventually { slowBegan.isDraining && firstAnswered.isDraining }
        await server.stop(grace: Self.patience)
        #expect(await second == ["200", "503"])
        #expect(await slow.content == "done")
    }

    @Test("a handler that exceeds the grace period is cancelled, and its client gets 503")
    func abandoned() async throws {
        let wasCancelled = Atomic<Bool>(false)
        let server = try HTTPServer.start(listen: .anyLoopback) { _ in
            try? await Task.sleep(for: .seconds(3_600))
            wasCancelled.store(Task.isCancelled, ordering: .relaxed)
            return .text("too late")
        }
        async let answer = get(server.address.port, "/")
        try await eventually { server.activeRequests == 1 }
        await server.stop(grace: .milliseconds(50))
        let text = await answer
        #expect(text.status == "503")
        #expect(!text.contains("too late"))
        try await eventually { wasCancelled.load(ordering: .relaxed) }
    }

    @Test("a handler that ignores its cancellation does not block the stop, and its late answer is dropped")
    func deafHandler() async throws {
        let release = DrainSignal()
        let returned = Atomic<Bool>(false)
        let server = try HTTPServer.start(listen: .anyLoopback) { _ in
            await Task { await release.wait() }.value
            returned.store(true, ordering: .relaxed)
            return .text("too late")
        }
        async let answer = get(server.address.port, "/")
        try await eventually { server.activeRequests == 1 }
        await server.stop(grace: .zero)
        #expect(await answer.status == "503")
        release.fire()
        try await eventually { returned.load(ordering: .relaxed) }
    }

    @Test("a client that does not read its answer does not block the stop")
    func deafClient() async throws {
        let server = try HTTPServer.start(listen: .anyLoopback) { _ in
            HTTPResponse(body: .bytes([UInt8](repeating: 1, count: 50_000_000)))
        }
        let port = server.address.port
        let isStopped = DrainSignal()
        async let client: Void? = withClient(port) { client in
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = blockUntil { isStopped.isDraining }
        }
        try await eventually { server.activeRequests == 1 }
        await server.stop(grace: .milliseconds(50))
        isStopped.fire()
        _ = await client
    }

    @Test("the port is free after a stop, and a second stop waits for the first")
    func portIsFree() async throws {
        let first = try HTTPServer.start(listen: .anyLoopback) { _ in .text("first") }
        #expect(await get(first.address.port, "/").content == "first")
        async let again: Void = first.stop()
        await first.stop()
        await again
        let second = try HTTPServer.start(listen: first.address) { _ in .text("second") }
        #expect(await get(first.address.port, "/").content == "second")
        await second.stop()
    }

    @Test("a port in use is reported as an error, and does not disturb the first server")
    func taken() async throws {
        try await withServer(handler: { _ in .text("fine") }) { server in
            let error = await failure(of: server.address)
            #expect(error?.code == .addressTaken)
            #expect(error.map { "\($0)" }?.hasPrefix("listening on 127.0.0.1:\(server.address.port): ") == true)
            #expect(await get(server.address.port, "/").content == "fine")
        }
    }

    @Test("a server cannot listen on a host of another machine", arguments: ["203.0.113.1", "host.invalid"])
    func foreignHost(host: String) async throws {
        let error = await failure(of: ListenAddress(host: host, port: 0))
        #expect(error?.code == .addressUnusable)
    }

    @Test("servers start and stop correctly under load")
    func storms() async throws {
        for _ in 0..<10 {
            let server = try HTTPServer.start(listen: .anyLoopback) { _ in
                await Task.yield()
                return .text("fine")
            }
            let port = server.address.port
            let hasEnded = DrainSignal()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        _ = await withClient(port) { client in
                            for _ in 0..<50 where client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") {
                                _ = client.read(until: "\r\n\r\n")
                            }
                        }
                        hasEnded.fire()
                    }
                }
                group.addTask {
                    try? await eventually { server.openConnections > 3 || hasEnded.isDraining }
                    await server.stop(grace: .milliseconds(20))
                }
            }
            #expect(server.activeRequests == 0)
        }
    }
}
