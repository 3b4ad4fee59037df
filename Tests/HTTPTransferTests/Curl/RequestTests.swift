import HTTPTransfer
import TestSupport
import Testing

@Suite("Requests", .limitedConcurrency, .timeLimit(.ofTest))
struct RequestTests {
    private func server() throws -> RawServer {
        try RawServer { connection in
            while connection.readRequest() != nil { connection.answer(headers: ["Set-Cookie: crumb=1; Path=/"]) }
        }
    }

    @Test("a request arrives unchanged, with only the headers that HTTP requires")
    func asGiven() async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let request = TransferRequest(
            .post,
            url: server.url("/3/device/abc?x=1"),
            headers: [("apns-topic", "com.example"), ("Content-Type", "application/json"), ("x-empty", "")],
            body: Array("{\"aps\":{}}".utf8)
        )
        for _ in 0..<2 { #expect(await transport.send(request).answer?.status == 200) }
        #expect(server.requests.count == 2)
        for received in server.requests {
            #expect(received.lines.first == "POST /3/device/abc?x=1 HTTP/1.1")
            #expect(received.body == request.body)
            #expect(received.header("apns-topic") == "com.example")
            #expect(received.header("content-type") == "application/json")
            #expect(received.header("x-empty") == "")
            #expect(received.header("user-agent") == "bellhop")
            #expect(received.header("content-length") == "10")
            #expect(received.header("host") == "127.0.0.1:\(server.port)")
            #expect(received.header("cookie") == nil)
            #expect(received.header("expect") == nil)
        }
        await transport.close()
    }

    @Test(
        "a request has its own method and body, whatever the previous request had",
        arguments: [
            (TransferRequest.Method.get, 0), (.post, 0), (.post, 5), (.put, 0), (.put, 5), (.delete, 0), (.delete, 5),
        ]
    )
    func methods(method: TransferRequest.Method, length: Int) async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let body = [UInt8](repeating: 65, count: length)
        // A different request before it must not change the pooled handle.
        for other in [TransferRequest(.delete, url: server.url(), body: [1]), TransferRequest(.get, url: server.url())]
        {
            #expect(await transport.send(other).answer != nil)
            #expect(await transport.send(TransferRequest(method, url: server.url(), body: body)).answer != nil)
            let received = try #require(server.requests.last)
            #expect(received.lines.first == "\(method.rawValue) / HTTP/1.1")
            #expect(received.body == body)
            #expect(received.header("content-type") == nil)
        }
        await transport.close()
    }

    @Test("a request with a body over a megabyte does not wait for 100-continue")
    func largeBody() async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let body = [UInt8](repeating: 9, count: 3_000_000)
        #expect(await transport.send(TransferRequest(.post, url: server.url(), body: body)).answer != nil)
        #expect(server.requests.first?.body == body)
        #expect(server.requests.first?.header("expect") == nil)
        await transport.close()
    }

    @Test("a request with more headers than the previous one arrives complete")
    func manyHeaders() async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        for count in [1, 100, 3] {
            let headers = (0..<count).map { (name: "x-\($0)", value: String(repeating: "v", count: 50)) }
            #expect(await transport.send(TransferRequest(.get, url: server.url(), headers: headers)).answer != nil)
            let received = server.requests.last?.lines.filter { $0.hasPrefix("x-") }
            #expect(received == headers.map { "\($0.name): \($0.value)" })
        }
        await transport.close()
    }

    @Test(
        "a header that could inject another one is rejected before anything is sent",
        arguments: [
            ("x\r\nHost", "v"), ("x\n", "v"), ("x\u{0}", "v"), ("x y", "v"), ("x:", "v"), ("", "v"), ("x;", ""),
            ("é", "v"), ("x", "v\r\nInjected: 1"), ("x", "v\n"), ("x", "v\r"), ("x", "v\u{0}"), ("x", "v\u{7f}"),
            ("Content-Length", "1"), ("transfer-encoding", "chunked"), ("Connection", "close"), ("host", "other"),
            ("Expect", "100-continue"), ("upgrade", "h2c"),
        ]
    )
    func refusedHeaders(name: String, value: String) async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let request = TransferRequest(
            .post,
            url: server.url("/secret"),
            headers: [("ok", "1"), (name, value)],
            body: [1]
        )
        let outcomes = await transport.send([request, TransferRequest(.get, url: server.url())])
        #expect(outcomes.first?.notSent == .invalidRequest)
        #expect(outcomes.first?.error?.text.contains("secret") == false)
        #expect(outcomes.last?.answer?.status == 200)
        #expect(server.requests.count == 1)
        await transport.close()
    }

    @Test(
        "a URL that breaks the request line or is unusable is rejected",
        arguments: [
            "", "/path", "http://127.0.0.1:PORT/a b", "http://127.0.0.1:PORT/a\r\nInjected: 1",
            "http://127.0.0.1:PORT/\u{0}", "http://127.0.0.1:PORT/é", "ftp://127.0.0.1:PORT/", "file:///etc/passwd",
            "http://127.0.0.1:99999/", "gopher://127.0.0.1:PORT/",
        ]
    )
    func refusedURLs(pattern: String) async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let url = pattern.replacing("PORT", with: "\(server.port)")
        #expect(await transport.send(TransferRequest(.get, url: url)).notSent == .invalidRequest)
        #expect(server.connectionCount == 0)
        await transport.close()
    }

    @Test("a request over plain HTTP is rejected unless the transport allows it")
    func plainHTTP() async throws {
        let server = try server()
        defer { server.stop() }
        let transport = try CurlTransport(CurlTransportOptions(name: "https only"))
        let outcome = await transport.send(TransferRequest(.get, url: server.url("/device/secret?key=1")))
        #expect(outcome.notSent == .invalidRequest)
        #expect(outcome.error?.text.contains("127.0.0.1:\(server.port)") == true)
        #expect(outcome.error?.text.contains("secret") == false)
        #expect(outcome.error?.text.contains("key") == false)
        #expect(server.connectionCount == 0)
        await transport.close()
    }

    @Test("a GET with a body is rejected")
    func bodyOfGet() async throws {
        let transport = try CurlTransport.plain()
        let outcome = await transport.send(TransferRequest(.get, url: "http://127.0.0.1/", body: [1]))
        #expect(outcome.notSent == .invalidRequest)
        await transport.close()
    }
}
