import Foundation
import FoundationNetworking
import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Requests and answers", .limitedConcurrency, .timeLimit(.ofTest))
struct ServingTests {
    private static let echo: HTTPHandler = { request in
        let body = String(decoding: request.body, as: UTF8.self)
        var response = HTTPResponse.text("\(request.method) \(request.target.segments) \(body)")
        response.headers["X-Echo"] = request.headers["x-sent"]
        return response
    }

    @Test("method, path, headers and body reach the handler, and its answer reaches the client")
    func echo() async throws {
        try await withServer(handler: Self.echo) { server in
            let answer = await exchange(
                server.address.port,
                "POST /a%20b/c?d HTTP/1.1\r\nHost: h\r\nx-SENT: yes\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
            )
            #expect(answer.status == "200")
            #expect(answer.content == #"POST ["a b", "c"] hello"#)
            #expect(answer.lowercased().contains("x-echo: yes\r\n"))
        }
    }

    @Test("a chunked body arrives complete")
    func chunked() async throws {
        try await withServer(handler: Self.echo) { server in
            let answer = await exchange(
                server.address.port,
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                    + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            )
            #expect(answer.content == #"POST [""] abcde"#)
        }
    }

    @Test("a body at the size limit arrives complete, in many pieces")
    func largestBody() async throws {
        let limits = HTTPLimits(bodyBytes: 300_000)
        try await withServer(limits: limits, handler: { .text("\($0.body.count) \(Set($0.body))") }) { server in
            let answer = await withClient(server.address.port) { client in
                client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\nConnection: close\r\n\r\n")
                for _ in 0..<300 { client.send([UInt8](repeating: 7, count: 1_000)) }
                return client.readAll()
            }
            #expect(answer?.content == "300000 [7]")
        }
    }

    @Test("HEAD returns the headers of GET without a body")
    func head() async throws {
        try await withServer(handler: Self.echo) { server in
            let answer = await get(server.address.port, "/", method: "HEAD")
            #expect(answer.status == "200")
            #expect(answer.content == "")
            #expect(answer.lowercased().contains("content-length: 10\r\n"))
        }
    }

    @Test("one connection serves several requests in turn")
    func keepAlive() async throws {
        try await withServer(handler: Self.echo) { server in
            let answers = await withClient(server.address.port) { client in
                (0..<20).map { index in
                    client.send("GET /\(index) HTTP/1.1\r\nHost: h\r\n\r\n")
                    return client.read(until: "[\"\(index)\"]").status
                }
            }
            #expect(answers == Array(repeating: "200", count: 20))
            try await eventually { server.openConnections == 0 }
        }
    }

    @Test("a client that expects 100-continue is told to continue, or is rejected before it sends the body")
    func expectContinue() async throws {
        try await withServer(limits: HTTPLimits(bodyBytes: 10), handler: Self.echo) { server in
            let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nConnection: close\r\n"
            let answers = await withClient(server.address.port) { client in
                client.send(head + "Content-Length: 2\r\n\r\n")
                let first = client.read(until: "\r\n\r\n")
                client.send("ok")
                return [first, client.readAll()]
            }
            #expect(answers?.first?.status == "100")
            #expect(answers?.last?.content.hasSuffix("ok") == true)
            let refused = await exchange(server.address.port, head + "Content-Length: 11\r\n\r\n")
            #expect(refused.status == "413")
        }
    }

    @Test("a hundred waiting handlers do not block other requests")
    func waitingHandlers() async throws {
        let release = DrainSignal()
        let arrived = Atomic<Int>(0)
        let handler: HTTPHandler = { request in
            guard request.target.segments == ["slow"] else { return .text("quick") }
            arrived.add(1, ordering: .relaxed)
            await release.wait()
            return .text("slow")
        }
        try await withServer(handler: handler) { server in
            let port = server.address.port
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 { group.addTask { await get(port, "/slow") } }
                try await eventually { arrived.load(ordering: .relaxed) == 100 }
                #expect(server.activeRequests == 100)
                let quick = await get(port, "/quick")
                #expect(quick.content == "quick")
                release.fire()
                for try await answer in group { #expect(answer.content == "slow") }
            }
            try await eventually { server.activeRequests == 0 && server.openConnections == 0 }
        }
    }

    @Test("parallel requests of an HTTP library each get their own answer")
    func urlSession() async throws {
        try await withServer(handler: Self.echo) { server in
            let port = server.address.port
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<60 {
                    group.addTask {
                        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/\(index)")))
                        request.httpMethod = "POST"
                        request.httpBody = Data("body \(index)".utf8)
                        let (body, response) = try await URLSession.shared.data(for: request)
                        let status = (response as? HTTPURLResponse)?.statusCode
                        return status == 200 && body == Data("POST [\"\(index)\"] body \(index)".utf8)
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
        }
    }

    @Test("a header value that contains a line break causes a 500 and is not sent")
    func responseSplitting() async throws {
        let handler: HTTPHandler = { _ in HTTPResponse(headers: ["X-Evil": "a\r\nSet-Cookie: b"]) }
        try await withServer(handler: handler) { server in
            let answer = await get(server.address.port, "/")
            #expect(answer.status == "500")
            #expect(!answer.contains("Set-Cookie"))
        }
    }
}
