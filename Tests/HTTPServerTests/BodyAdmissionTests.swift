import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Admission of request bodies", .limitedConcurrency, .timeLimit(.ofTest))
struct BodyAdmissionTests {
    /// Accepts bodies at `/open` and `/small`, and none at `/closed`, at `/none` and at paths without a route.
    private static let router: Router = {
        var router = Router()
        let echo: HTTPHandler = { .text("\($0.body.count) \($0.isAdmitted)") }
        router.add("POST", "/open", body: RouteBody(atMost: 100_000), handler: echo)
        router.add("POST", "/small", body: RouteBody(atMost: 10), handler: echo)
        router.add("POST", "/bulk", body: RouteBody(atMost: 100_000, within: .publishers), handler: echo)
        router.add("POST", "/none", handler: echo)
        let refused: @Sendable (HTTPRequest) -> HTTPResponse? = { _ in .text("who are you", status: 401) }
        router.add("POST", "/closed", body: RouteBody(atMost: 100_000, refusal: refused), handler: echo)
        return router
    }()

    private static func withRouter(
        bodies: Int = 1 << 20,
        _ body: (HTTPServer) async throws -> Void
    ) async throws {
        var limits = HTTPLimits()
        limits.allBodiesBytes = bodies
        let server = try HTTPServer.start(
            listen: .anyLoopback,
            limits: limits,
            admission: router.admit,
            handler: router.respond(to:)
        )
        do { try await body(server) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test(
        "a request is answered without its body if its head suffices, and the connection is closed",
        arguments: [
            ("/closed", "Content-Length: 60000", "401"), ("/closed", "Transfer-Encoding: chunked", "401"),
            ("/none", "Content-Length: 60000", "413"), ("/small", "Content-Length: 11", "413"),
            ("/nowhere", "Content-Length: 60000", "404"), ("/open", "Content-Length: 100001", "413"),
            ("/closed", "Expect: 100-continue\r\nContent-Length: 60000", "401"),
        ]
    )
    func refused(path: String, length: String, status: String) async throws {
        try await Self.withRouter { server in
            let answer = await exchange(server.address.port, "POST \(path) HTTP/1.1\r\nHost: h\r\n\(length)\r\n\r\n")
            #expect(answer.status == status)
            #expect(answer.lowercased().contains("connection: close"))
            try await eventually { server.openConnections == 0 && server.activeRequests == 0 }
        }
    }

    @Test("a body that its route accepts arrives and is marked as admitted, and an empty body skips the admission")
    func accepted() async throws {
        try await Self.withRouter { server in
            let answers = await withClient(server.address.port) { client in
                client.send("POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
                let first = client.read(until: "true").content
                client.send("POST /closed HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
                return [first, client.read(until: "false").content]
            }
            #expect(answers == ["3 true", "0 false"])
            let chunked = "POST /small HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            let long = await exchange(server.address.port, chunked + "b\r\n12345678901\r\n0\r\n\r\n")
            #expect(long.status == "413")
            let short = await exchange(server.address.port, chunked + "a\r\n1234567890\r\n0\r\n\r\n")
            #expect(short.content == "10 true")
        }
    }

    @Test("all bodies together are bounded: a further one gets 503, until an answer makes room")
    func together() async throws {
        try await Self.withRouter(bodies: 1_000) { server in
            let port = server.address.port
            let head = "POST /open HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 600\r\n\r\n"
            let statuses = await withClient(port) { first in
                first.send(head + String(repeating: "x", count: 599))
                guard let second = RawClient(port: port) else { return ["no connection"] }
                var statuses: [String] = []
                // Probes run until the server counts the first request's body. A probe's own body is counted only for a
                // moment.
                repeat {
                    guard let probe = RawClient(port: port) else { return ["no connection"] }
                    probe.send(head + String(repeating: "x", count: 600))
                    statuses = [probe.readAll().status]
                } while statuses == ["200"]
                second.send(head + String(repeating: "x", count: 600))
                statuses.append(second.readAll().status)
                first.send("x")
                statuses.append(first.readAll().status)
                return statuses
            }
            #expect(statuses == ["503", "503", "200"])
            try await eventually { server.openConnections == 0 }
            let later = await exchange(port, head + String(repeating: "x", count: 600))
            #expect(later.status == "200")
        }
    }

    @Test("long bodies of publishers leave the bodies of users their own budget")
    func budgets() async throws {
        try await Self.withRouter(bodies: 1_000) { server in
            let port = server.address.port
            let call = { @Sendable (path: String, bytes: Int) in
                "POST \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 600\r\n\r\n"
                    + String(repeating: "x", count: bytes)
            }
            let statuses = await withClient(port) { first in
                first.send(call("/bulk", 599))
                var busy: RawClient?
                // Probes run until the server counts the first request's body.
                repeat {
                    busy = RawClient(port: port)
                    busy?.send(call("/bulk", 600))
                } while busy?.readAll().status == "200"
                guard let user = RawClient(port: port) else { return ["no connection"] }
                user.send(call("/open", 600))
                let answer = user.readAll().status
                first.send("x")
                return [answer, first.readAll().status]
            }
            #expect(statuses == ["200", "200"])
            try await eventually { server.openConnections == 0 }
            let later = await exchange(port, call("/bulk", 600))
            #expect(later.status == "200")
        }
    }

    @Test("many requests that are rejected by their heads keep no memory for bodies")
    func many() async throws {
        try await Self.withRouter(bodies: 1) { server in
            let port = server.address.port
            let statuses = await withClient(port) { _ in
                let clients = (0..<100).compactMap { _ in RawClient(port: port) }
                for client in clients {
                    client.send("POST /closed HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n")
                    client.send(String(repeating: "x", count: 59_999))
                }
                return Set(clients.map { $0.read(until: "\r\n\r\n").status })
            }
            #expect(statuses == ["401"])
            try await eventually { server.openConnections == 0 }
        }
    }
}
