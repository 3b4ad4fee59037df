import Foundation
import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Streams", .limitedConcurrency, .timeLimit(.ofTest))
struct StreamingTests {
    @Test("events arrive when they are sent, not when the stream ends")
    func events() async throws {
        let (stream, say) = AsyncStream<[UInt8]>.makeStream()
        try await withServer(handler: { _ in .events(stream) }) { server in
            let answers =
                await withClient(server.address.port) { client in
                    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                    let head = client.read(until: "\r\n\r\n")
                    let pieces = (0..<3).map { index in
                        say.yield(Array("data: \(index)\n\n".utf8))
                        return client.read(until: "data: \(index)\n\n")
                    }
                    say.finish()
                    return [head] + pieces + [client.readAll()]
                } ?? [String]()
            #expect(answers.first?.lowercased().contains("content-type: text/event-stream") == true)
            #expect(answers.count == 5)
            for index in 0..<3 where answers.count == 5 {
                #expect(answers[index + 1].contains("data: \(index)\n\n"))
            }
            try await eventually { server.activeRequests == 0 }
        }
    }

    @Test("a stream of any length arrives complete, even if the client reads slowly")
    func whole() async throws {
        let stream = AsyncStream<[UInt8]> { continuation in
            for index in 0..<300 { continuation.yield([UInt8](repeating: UInt8(index % 251), count: 10_000)) }
            continuation.finish()
        }
        try await withServer(handler: { _ in HTTPResponse(body: .stream(stream)) }) { server in
            let bytes =
                await withClient(server.address.port) { client in
                    // HTTP/1.0 has no chunks, so the bytes after the head are the body.
                    client.send("GET / HTTP/1.0\r\n\r\n")
                    var bytes: [UInt8] = []
                    while let more = client.read() {
                        bytes += more
                        usleep(200)
                    }
                    return bytes
                } ?? [UInt8]()
            let end = Data(bytes).range(of: Data("\r\n\r\n".utf8))?.upperBound ?? 0
            let expected = (0..<300).flatMap { [UInt8](repeating: UInt8($0 % 251), count: 10_000) }
            let isWhole = Array(bytes[end...]) == expected
            #expect(isWhole)
        }
    }

    @Test("a stream whose client has disconnected is cancelled at its next pieces")
    func clientGone() async throws {
        let ended = AtomicFlag()
        let (stream, say) = AsyncStream<[UInt8]>.makeStream()
        say.onTermination = { _ in ended.value.store(true, ordering: .relaxed) }
        try await withServer(handler: { _ in .events(stream) }) { server in
            _ = await withClient(server.address.port) { client in
                client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                return client.read(until: "\r\n\r\n")
            }
            try await eventually {
                say.yield(Array(": still here\n\n".utf8))
                return ended.value.load(ordering: .relaxed)
            }
            try await eventually { server.activeRequests == 0 && server.openConnections == 0 }
        }
    }

    @Test("a client that reads nothing is cut off, and its stream ends")
    func stalled() async throws {
        let ended = AtomicFlag()
        let stream = AsyncStream<[UInt8]> { continuation in
            continuation.onTermination = { _ in ended.value.store(true, ordering: .relaxed) }
            for _ in 0..<400 { continuation.yield([UInt8](repeating: 7, count: 100_000)) }
        }
        try await withServer(limits: HTTPLimits(sendTimeout: .seconds(1)), handler: { _ in .events(stream) }) {
            server in
            _ = await withClient(server.address.port) { client in
                client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                return blockUntil { server.activeRequests > 0 }
                    && blockUntil { server.openConnections == 0 && server.activeRequests == 0 }
            }
            #expect(server.openConnections == 0)
            try await eventually { ended.value.load(ordering: .relaxed) }
        }
    }

    @Test("a stop ends streams with a final chunk")
    func stop() async throws {
        let ended = Atomic<Bool>(false)
        let (stream, say) = AsyncStream<[UInt8]>.makeStream()
        say.onTermination = { _ in ended.store(true, ordering: .relaxed) }
        let server = try HTTPServer.start(listen: .anyLoopback) { _ in .events(stream) }
        say.yield(Array("data: 1\n\n".utf8))
        async let answer = get(server.address.port, "/")
        try await eventually { server.activeRequests == 1 }
        say.yield(Array("data: 2\n\n".utf8))
        await server.stop(grace: LongestWait.duration)
        let text = await answer
        #expect(text.status == "200")
        #expect(text.hasSuffix("0\r\n\r\n"), "the last chunk is there, so the client knows that this was the end")
        try await eventually { ended.load(ordering: .relaxed) }
    }

    @Test("HEAD reads nothing from a stream, and its producer is cancelled")
    func head() async throws {
        let asked = Atomic<Bool>(false)
        let told = Atomic<Bool>(false)
        let stream = AsyncStream<[UInt8]> {
            asked.store(true, ordering: .relaxed)
            return nil
        } onCancel: {
            told.store(true, ordering: .relaxed)
        }
        try await withServer(handler: { _ in .events(stream) }) { server in
            let answer = await get(server.address.port, "/", method: "HEAD")
            #expect(answer.status == "200")
            #expect(answer.content == "")
            let wasAsked = asked.load(ordering: .relaxed)
            #expect(!wasAsked)
            try await eventually { told.load(ordering: .relaxed) }
        }
    }
}

/// A flag that closures share by reference.
///
/// Swift 6.0 copies an atomic that several nested closures capture.
private final class AtomicFlag: Sendable {
    let value = Atomic<Bool>(false)
}
