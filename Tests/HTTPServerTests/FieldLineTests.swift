import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Header fields", .limitedConcurrency, .timeLimit(.ofTest))
struct FieldLineTests {
    /// A request that a lenient proxy takes for the body of the previous request.
    private static let hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\nX: "

    /// A head with a malformed line, after which `hidden` may be a body or a second request.
    private static func request(_ line: String, method: String = "POST") -> [UInt8] {
        Array("\(method) / HTTP/1.1\r\nHost: h\r\n\(line)\r\n\r\n\(hidden)".utf8)
    }

    /// Returns everything that the server sends until it closes the connection.
    private static func answer(_ port: UInt16, _ request: [UInt8]) async -> String {
        await withClient(port) { client in
            client.send(request)
            return client.readAll()
        } ?? "no connection"
    }

    private static func expectOneRefusal(_ answer: String, _ what: String) {
        #expect(answer.status == "400", "\(what): \(answer)")
        #expect(answer.ranges(of: "HTTP/1.1 ").count == 1, "\(what): \(answer)")
        #expect(answer.lowercased().contains("connection: close"), "\(what): \(answer)")
    }

    private static let length = "\(hidden.utf8.count)"

    private static let malformedLines = [
        "Content-Length : \(length)", "Content-Length\t: \(length)", "Content-Length\u{B}: \(length)",
        "Content-Length\u{C}: \(length)", "Content-Length\r: \(length)", "(Content-Length: \(length)",
        "Content Length: \(length)", "Content-Length\u{E6}: \(length)", "\u{212A}: \(length)", ": \(length)",
        "Transfer-Encoding : chunked", "X: a\r", "X: a\rContent-Length: \(length)",
        "X: a\nContent-Length: \(length)", "X: a\r\n Content-Length: \(length)", "X: a\r\n\tb", "X\0Y: a",
        "X: a\0b\r\nContent-Length: \(length)", "X: a\r\n\0Content-Length: \(length)",
    ]

    @Test(
        "a malformed field gets exactly one 400, and the connection is closed",
        arguments: malformedLines
    )
    func malformed(line: String) async throws {
        let calls = Mutex(0)
        let handler: HTTPHandler = { _ in
            calls.withLock { $0 += 1 }
            return .text("fine")
        }
        try await withServer(handler: handler) { server in
            for method in ["GET", "POST", "PATCH"] {
                let answer = await Self.answer(server.address.port, Self.request(line, method: method))
                Self.expectOneRefusal(answer, "\(method) \(line.debugDescription)")
            }
            #expect(calls.withLock { $0 } == 0)
            try await eventually { server.openConnections == 0 }
        }
    }

    @Test("a first field that begins with a blank is rejected like any other", arguments: [" ", "\t"])
    func first(blank: String) async throws {
        try await withServer(handler: { _ in .text("fine") }) { server in
            let head = "POST / HTTP/1.1\r\n\(blank)Content-Length: \(Self.length)\r\nHost: h\r\n\r\n"
            let answer = await Self.answer(server.address.port, Array((head + Self.hidden).utf8))
            Self.expectOneRefusal(answer, "leading blank")
        }
    }

    @Test("a field name with bytes that are not UTF-8 is rejected")
    func bytes() async throws {
        try await withServer(handler: { _ in .text("fine") }) { server in
            let line = Array("Content-Length".utf8) + [0x80, 0xFF] + Array(": \(Self.length)".utf8)
            let request = Array("POST / HTTP/1.1\r\nHost: h\r\n".utf8) + line + Array("\r\n\r\n\(Self.hidden)".utf8)
            Self.expectOneRefusal(await Self.answer(server.address.port, request), "bytes above 0x7F")
        }
    }

    @Test("the operations endpoint rejects a malformed field, too")
    func operations() async throws {
        let endpoint = OperationsEndpoint(
            listen: .anyLoopback,
            from: "BELLHOP_METRICS_LISTEN",
            registry: MetricsRegistry(),
            checks: [],
            logger: Logger(label: "test", sink: CapturedLog())
        )
        let drain = DrainSignal()
        let running = Task { try await endpoint.run(until: drain) }
        try await eventually { endpoint.boundAddress != nil }
        let port = endpoint.boundAddress?.port ?? 0
        let answer = await Self.answer(port, Self.request("Content-Length : \(Self.length)", method: "GET"))
        drain.fire()
        try await running.value
        Self.expectOneRefusal(answer, "operations endpoint")
    }

    @Test("well-formed fields arrive unchanged, whatever their number and however packets divide them")
    func wellFormed() async throws {
        let handler: HTTPHandler = { request in
            let names = ["x-empty", "x-blank", "x-utf8", "!#$%&'*+-.^_`|~"]
            let few = names.map { request.headers[$0] ?? "-" }.joined(separator: "|")
            let many = (0..<60).allSatisfy { request.headers["x-\($0)"] == String(repeating: "v", count: $0) }
            return .text("\(few) \(many) \(request.body.count)")
        }
        try await withServer(handler: handler) { server in
            let many = (0..<60).map { "X-\($0):\(String(repeating: "v", count: $0))\r\n" }.joined()
            let odd = "X-Empty:\r\nX-Blank:   \r\nX-UTF8: bl\u{E5}\r\n!#$%&'*+-.^_`|~: t\r\n"
            let request = "POST / HTTP/1.1\r\nHost: h\r\n\(many)\(odd)Content-Length: 3\r\n\r\nabc"
            let answers = await withClient(server.address.port) { client in
                var answers: [String] = []
                for piece in [request.utf8.count, 1_000, 7] {
                    let bytes = Array(request.utf8)
                    for start in stride(from: 0, to: bytes.count, by: piece) {
                        client.send(Array(bytes[start..<min(start + piece, bytes.count)]))
                    }
                    answers.append(client.read(until: " 3").content)
                }
                return answers
            }
            #expect(answers == Array(repeating: "||bl\u{E5}|t true 3", count: 3))
        }
    }
}
