import Foundation
import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Hostile clients", .limitedConcurrency, .timeLimit(.ofTest))
struct HostileClientTests {
    private static let head = "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"

    /// Runs a body with a server whose handler counts its calls.
    ///
    /// Afterwards the server must still answer, and hold no connection or request.
    private func withCountingServer(
        limits: HTTPLimits = HTTPLimits(bodyBytes: 1_000),
        _ body: (HTTPServer, @escaping @Sendable () -> Int) async throws -> Void
    ) async throws {
        let calls = Mutex(0)
        let handler: HTTPHandler = { _ in
            calls.withLock { $0 += 1 }
            return .text("fine")
        }
        try await withServer(limits: limits, handler: handler) { server in
            try await body(server) { calls.withLock { $0 } }
            #expect(await get(server.address.port, "/").content == "fine")
            try await eventually { server.activeRequests == 0 && server.openConnections == 0 }
        }
    }

    @Test("an untrusted address has a limited number of connections, and a trusted one has no limit")
    func crowd() async throws {
        var limits = HTTPLimits()
        limits.connectionsPerAddress = 2
        try await withServer(limits: limits, handler: { _ in .text("fine") }) { server in
            let answers = await Self.answers(of: 3, at: server.address.port)
            #expect(answers == [true, true, false])
            try await eventually { server.openConnections == 0 }
            #expect(await get(server.address.port, "/").content == "fine")
        }
        limits.manyFrom = [try #require(AddressRange("127.0.0.0/8"))]
        try await withServer(limits: limits, handler: { _ in .text("fine") }) { server in
            let answers = await Self.answers(of: 3, at: server.address.port)
            #expect(answers == [true, true, true])
        }
    }

    /// Returns for each client whether it gets an answer.
    ///
    /// Each client connects while the previous ones are still connected.
    private static func answers(of count: Int, at port: UInt16) async -> [Bool] {
        await withClient(port) { first in
            var clients = [first]
            while clients.count < count, let client = RawClient(port: port) { clients.append(client) }
            return clients.map { client in
                client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                return client.read() != nil
            }
        } ?? []
    }

    @Test(
        "a rejected request never reaches the handler",
        arguments: [
            (head + "Content-Length: 1001\r\n\r\n", ["413"]),
            (head + "Content-Length: 99999999999999999999999\r\n\r\n", ["400", "413"]),
            (head + "Content-Length: -1\r\n\r\n", ["400"]),
            (head + "Content-Length: 3, 4\r\n\r\nabc", ["400"]),
            (head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", ["400"]),
            (head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", ["400"]),
            (head + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n", ["400"]),
            ("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", ["400"]), ("GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n", ["400"]),
            ("GET /?q=%ff HTTP/1.1\r\nHost: h\r\n\r\n", ["400"]), ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", ["400"]),
            ("GET / HTTP/1.1\r\n\r\n", ["400"]), ("GET / HTTP/9.9\r\nHost: h\r\n\r\n", ["400", "505"]),
            ("GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", ["400"]),
            (head + "Transfer-Encoding: gzip\r\n\r\nabc", ["400", "501"]),
            (head + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", ["400", "501"]),
        ] as [(String, [String])]
    )
    func refused(request: String, statuses: [String]) async throws {
        try await withCountingServer { server, calls in
            let answer = await withClient(server.address.port) { client in
                client.send(request)
                return client.read(until: "\r\n\r\n")
            }
            #expect(statuses.contains(answer?.status ?? "no connection"), "\(answer ?? "")")
            #expect(calls() == 0)
        }
    }

    @Test("a chunked body over the limit gets 413")
    func chunkedOverflow() async throws {
        try await withCountingServer { server, calls in
            let chunk = "1f4\r\n" + String(repeating: "x", count: 500) + "\r\n"
            let answer = await exchange(
                server.address.port,
                Self.head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk + "0\r\n\r\n"
            )
            #expect(answer.status == "413")
            #expect(calls() == 0)
        }
    }

    @Test("a client that does not read its answer in time is cut off, so that such clients cannot hold all connections")
    func slowReaders() async throws {
        // This is more than the kernel buffers for a connection.
        let size = 32 << 20
        let limits = HTTPLimits(connections: 2, receiveTimeout: .seconds(3_600), sendTimeout: .milliseconds(200))
        let handler: HTTPHandler = { request in
            let isLarge = request.target.segments == ["large"]
            return isLarge ? HTTPResponse(body: .bytes([UInt8](repeating: 0x78, count: size))) : .text("fine")
        }
        try await withServer(limits: limits, handler: handler) { server in
            let readers = (0..<2).compactMap { _ in RawClient(port: server.address.port) }
            for reader in readers { reader.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n") }
            try await eventually { server.activeRequests == 2 }
            try await eventually { server.activeRequests == 0 && server.openConnections == 0 }
            #expect(await get(server.address.port, "/").content == "fine")
            for reader in readers { #expect(reader.readAll().utf8.count < size) }
        }
    }

    @Test("an endless body is cut off")
    func endlessBody() async throws {
        try await withCountingServer { server, calls in
            let wasCutOff = await withClient(server.address.port) { client in
                client.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n")
                let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
                return (0..<2_000).contains { _ in !client.send(chunk) }
            }
            #expect(wasCutOff == true)
            #expect(calls() == 0)
        }
    }

    @Test(
        "oversized headers are rejected",
        arguments: [("A", 100_000, 1), ("A: b\r\n", 6, 20_000)] as [(String, Int, Int)]
    )
    func hugeHeaders(unit: String, size: Int, count: Int) async throws {
        try await withCountingServer { server, calls in
            let answer = await withClient(server.address.port) { client in
                client.send("GET / HTTP/1.1\r\nHost: h\r\n")
                for _ in 0..<count where !client.send(String(repeating: unit, count: size / unit.count)) { break }
                client.send("\r\n\r\n")
                return client.read(until: "\r\n\r\n")
            }
            #expect(["400", "413", "431", ""].contains(answer?.status ?? "no connection"))
            #expect(calls() == 0)
        }
    }

    @Test("an oversized path is rejected")
    func hugePath() async throws {
        try await withCountingServer { server, calls in
            let answer = await withClient(server.address.port) { client in
                client.send("GET /" + String(repeating: "a", count: 200_000) + " HTTP/1.1\r\nHost: h\r\n\r\n")
                return client.read(until: "\r\n\r\n")
            }
            #expect(["400", "414", "413", "431", ""].contains(answer?.status ?? "no connection"))
            #expect(calls() == 0)
        }
    }

    @Test("random bytes do not disturb the server", arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
    func garbage(seed: UInt64) async throws {
        try await withCountingServer { server, _ in
            var state = seed
            var garbage: [UInt8] = seed % 2 == 0 ? Array("GET /".utf8) : []
            for _ in 0..<5_000 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                garbage.append(UInt8(truncatingIfNeeded: state >> 40))
            }
            let bytes = garbage
            _ = await withClient(server.address.port) { client in
                client.send(bytes)
                client.send("\r\n\r\n")
            }
        }
    }

    @Test(
        "a client that sends one byte at a time without end is cut off",
        arguments: ["GET / HTTP/1.1\r\nX: ", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n\r\n"]
    )
    func dripping(start: String) async throws {
        let limits = HTTPLimits(bodyBytes: 1_000, receiveTimeout: .seconds(1))
        try await withCountingServer(limits: limits) { server, calls in
            let wasCutOff = await withClient(server.address.port) { client in
                client.send(start)
                return blockUntil { !client.send("x") }
            }
            #expect(wasCutOff == true)
            #expect(calls() == 0)
        }
    }

    @Test("a silent client is cut off, before its first request and after it")
    func silence() async throws {
        let limits = HTTPLimits(receiveTimeout: .seconds(3))
        try await withServer(limits: limits, handler: { _ in .text("fine") }) { server in
            let answers = await withClient(server.address.port) { client in client.readAll() }
            #expect(answers == "")
            let later = await withClient(server.address.port) { client in
                client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                return client.readAll()
            }
            #expect(later?.content == "fine")
        }
    }

    @Test("a handler may take longer than the limit for receiving a request")
    func slowHandler() async throws {
        let limits = HTTPLimits(receiveTimeout: .seconds(5))
        let handler: HTTPHandler = { _ in
            // The server counts in whole seconds.
            try? await Task.sleep(for: .seconds(7))
            return .text("late")
        }
        try await withServer(limits: limits, handler: handler) { server in
            #expect(await get(server.address.port, "/").content == "late")
        }
    }

    @Test(
        "a handler never sees the bytes after a NUL",
        arguments: ["GET /a\0hidden HTTP/1.1\r\nX: x", "GET /a HTTP/1.1\r\nX: x\0hidden"]
    )
    func nul(start: String) async throws {
        try await withServer(handler: { .text("\($0.target.segments) \($0.headers["x"] ?? "-")") }) { server in
            let answer = await exchange(server.address.port, start + "\r\nHost: h\r\nConnection: close\r\n\r\n")
            // libmicrohttpd 1.0 closes the connection.
            let isRefused = answer.isEmpty || answer.status == "400"
            #expect(isRefused || answer.content == #"["a"] x"#, "\(Array(answer.utf8))")
        }
    }

    @Test("clients that disconnect at any stage leave no connection or request behind")
    func leaving() async throws {
        try await withCountingServer(limits: HTTPLimits(receiveTimeout: .seconds(2))) { server, _ in
            for text in ["", "GET", "GET / HTTP/1.1\r\nHost: h\r\n", Self.head + "Content-Length: 9\r\n\r\nabc"] {
                for _ in 0..<20 {
                    _ = await withClient(server.address.port) { $0.send(text) }
                }
            }
            for _ in 0..<20 {
                _ = await withClient(server.address.port) { $0.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
            }
        }
    }
}
