import HTTPTransfer
import TestSupport
import Testing

/// Tests that both transports send the same requests, as an HTTP/2 peer receives them.
@Suite("Requests over HTTP/2", .limitedConcurrency, .enabled(if: TestCertificate.isAvailable), .timeLimit(.ofTest))
struct RequestContractTests {
    @Test("a request arrives unchanged, with only the headers that HTTP requires", arguments: TransportKind.allCases)
    func asGiven(kind: TransportKind) async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        let request = TransferRequest(
            .post,
            url: server.url("/3/device/abc?x=1#fragment"),
            headers: [
                ("Apns-Topic", "com.example"), ("Content-Type", "application/json"), ("x-blank", "  a b\t"),
                ("x-empty", ""),
            ],
            body: Array("{\"aps\":{}}".utf8),
            timeouts: .generous
        )
        for _ in 0..<2 { #expect(await transport.send(request).answer?.status == 200) }
        #expect(server.requests.count == 2)
        for received in server.requests {
            #expect(received.body == request.body)
            let known = [
                ":method": "POST", ":scheme": "https", ":authority": "localhost:\(server.port)",
                ":path": "/3/device/abc?x=1", "user-agent": "bellhop", "apns-topic": "com.example",
                "content-type": "application/json", "x-blank": "a b", "x-empty": "", "content-length": "10",
            ]
            let added = received.fields.filter { !$0.hasPrefix("accept: ") }
            #expect(Set(added) == Set(known.map { "\($0.key): \($0.value)" }))
        }
        await transport.close()
    }

    @Test("a request has the method and body that belong together", arguments: TransportKind.allCases)
    func methods(kind: TransportKind) async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        let cases: [(TransferRequest.Method, Int)] = [
            (.get, 0), (.post, 0), (.post, 5), (.put, 0), (.put, 5), (.delete, 0), (.delete, 5), (.get, 0),
        ]
        for (method, length) in cases {
            let body = [UInt8](repeating: 65, count: length)
            let request = TransferRequest(method, url: server.url(), body: body, timeouts: .generous)
            #expect(await transport.send(request).answer?.body == body)
            let received = try #require(server.requests.last)
            #expect(received.field(":method") == method.rawValue)
            #expect(received.field("content-type") == nil)
            let expectsBody = length > 0 || method == .post || method == .put
            #expect(received.field("content-length") == (expectsBody ? String(length) : nil))
        }
        await transport.close()
    }

    @Test("a request with many headers arrives complete", arguments: TransportKind.allCases)
    func manyHeaders(kind: TransportKind) async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        for count in [1, 100, 3] {
            let headers = (0..<count).map { (name: "x-\($0)", value: String(repeating: "v", count: 50)) }
            let request = TransferRequest(.get, url: server.url(), headers: headers, timeouts: .generous)
            #expect(await transport.send(request).answer != nil)
            let received = server.requests.last?.fields.filter { $0.hasPrefix("x-") }
            #expect(received == headers.map { "\($0.name): \($0.value)" })
        }
        await transport.close()
    }

    @Test("requests of one batch may differ in everything", arguments: TransportKind.allCases)
    func mixed(kind: TransportKind) async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        let requests = (0..<50).map { number in
            TransferRequest(
                number % 2 == 0 ? .post : .put,
                url: server.url("/\(number % 3)"),
                headers: number % 5 == 0 ? [] : [("x-number", "\(number % 7)")],
                body: Array("\(number)".utf8),
                timeouts: .generous
            )
        }
        #expect(await transport.send(requests).map { $0.answer?.body } == requests.map(\.body))
        for received in server.requests {
            let number = try #require(Int(received.text))
            #expect(received.field(":path") == "/\(number % 3)")
            #expect(received.field(":method") == (number % 2 == 0 ? "POST" : "PUT"))
            #expect(received.field("x-number") == (number % 5 == 0 ? nil : "\(number % 7)"))
        }
        await transport.close()
    }

    @Test(
        "a header that could inject another one is rejected before anything is sent",
        arguments: TransportKind.allCases,
        [
            ("x\r\nHost", "v"), ("x\n", "v"), ("x\u{0}", "v"), ("x y", "v"), ("x:", "v"), ("", "v"), (":path", "/"),
            ("é", "v"), ("x", "v\r\nInjected: 1"), ("x", "v\n"), ("x", "v\r"), ("x", "v\u{0}"), ("x", "v\u{7f}"),
            ("Content-Length", "1"), ("transfer-encoding", "chunked"), ("Connection", "close"), ("host", "other"),
            ("Expect", "100-continue"), ("upgrade", "h2c"), ("TE", "trailers"), ("keep-alive", "1"),
        ]
    )
    func refusedHeaders(kind: TransportKind, header: (name: String, value: String)) async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        let request = TransferRequest(
            .post,
            url: server.url("/secret"),
            headers: [("ok", "1"), header],
            body: [1],
            timeouts: .generous
        )
        let outcomes = await transport.send([request, server.post("fine")])
        #expect(outcomes.first?.notSent == .invalidRequest)
        #expect(outcomes.first?.error?.text.contains("POST to localhost:\(server.port)") == true)
        #expect(outcomes.first?.error?.text.contains("secret") == false)
        #expect(outcomes.last?.answer?.status == 200)
        #expect(server.bodies == ["fine"])
        await transport.close()
    }

    @Test(
        "a request with an unusable URL is rejected",
        arguments: TransportKind.allCases,
        [
            "", "/path", "http://localhost:PORT/", "https://localhost:PORT/a b", "https://localhost:PORT/\r\nx: 1",
            "https://localhost:PORT/\u{0}", "https://localhost:PORT/é", "ftp://localhost:PORT/", "file:///etc/passwd",
            "https://localhost:99999/", "https://",
        ]
    )
    func refusedURLs(kind: TransportKind, pattern: String) async throws {
        let server = try FrameServer.echoing()
        defer { server.stop() }
        let transport = try kind.open(trusting: server.certificate)
        let url = pattern.replacing("PORT", with: "\(server.port)")
        #expect(await transport.send(TransferRequest(.get, url: url)).notSent == .invalidRequest)
        #expect(server.connectionCount == 0)
        await transport.close()
    }

    @Test("a GET with a body is rejected", arguments: TransportKind.allCases)
    func bodyOfGet(kind: TransportKind) async throws {
        let transport = try kind.open(trusting: TestCertificate())
        let outcome = await transport.send(TransferRequest(.get, url: "https://127.0.0.1/", body: [1]))
        #expect(outcome.notSent == .invalidRequest)
        await transport.close()
    }
}
