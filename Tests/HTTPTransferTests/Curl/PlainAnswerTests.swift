import Foundation
import HTTPTransfer
import TestSupport
import Testing

@Suite("Answers over plain HTTP", .limitedConcurrency, .timeLimit(.ofTest))
struct PlainAnswerTests {
    /// Starts a server that gives the same answer to every request.
    private func server(
        _ status: String = "200 OK",
        headers: [String] = [],
        body: String = ""
    ) throws -> RawServer {
        try RawServer { connection in
            while connection.readRequest() != nil { connection.answer(status, headers: headers, body: body) }
        }
    }

    @Test("an answer has status, headers and body, and its connection is kept for the next request")
    func answer() async throws {
        let server = try server("404 Not Found", headers: ["Apns-Id: 42"], body: "{}")
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let first = await transport.send(TransferRequest(.get, url: server.url())).answer
        #expect(first?.status == 404)
        #expect(first?.headers["apns-id"] == "42")
        #expect(first?.body == Array("{}".utf8))
        #expect(first?.isBodyTruncated == false)
        #expect(first?.version == .http1)
        #expect(first?.newConnections == 1)
        #expect(first?.retryAfterSeconds == nil)
        let second = await transport.send(TransferRequest(.get, url: server.url())).answer
        #expect(second?.newConnections == 0)
        #expect(server.connectionCount == 1)
        await transport.close()
    }

    @Test("answers have the order of the requests, whichever arrives first")
    func order() async throws {
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                if request.path == "/0" { Thread.sleep(forTimeInterval: 0.02) }
                connection.answer(body: request.path)
            }
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain { $0.connections = 4 }
        let outcomes = await transport.send((0..<40).map { TransferRequest(.get, url: server.url("/\($0 % 4)")) })
        #expect(outcomes.map { $0.answer?.body } == (0..<40).map { Array("/\($0 % 4)".utf8) })
        await transport.close()
    }

    @Test("an empty batch has no answers")
    func emptyBatch() async throws {
        let transport = try CurlTransport.plain()
        #expect(await transport.send([]).isEmpty)
        await transport.close()
    }

    @Test("a body over the limit is cut and marked, since the peer has processed the request", arguments: [9, 10, 11])
    func cap(length: Int) async throws {
        let server = try server(body: String(repeating: "x", count: length))
        defer { server.stop() }
        let transport = try CurlTransport.plain { $0.bodyLimit = 10 }
        let answer = await transport.send(TransferRequest(.post, url: server.url(), body: [1])).answer
        #expect(answer?.status == 200)
        #expect(answer?.body.count == min(length, 10))
        #expect(answer?.isBodyTruncated == (length > 10))
        await transport.close()
    }

    @Test("an endless body is cut at the limit")
    func endlessBody() async throws {
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 200 OK\r\n\r\n")
            while connection.send(String(repeating: "x", count: 10_000)) {}
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let answer = await transport.send(TransferRequest(.get, url: server.url())).answer
        #expect(answer?.body.count == 64 * 1024)
        #expect(answer?.isBodyTruncated == true)
        await transport.close()
    }

    @Test("a redirect is returned and never followed")
    func redirect() async throws {
        let other = try server()
        defer { other.stop() }
        let server = try server("302 Found", headers: ["Location: \(other.url())"])
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let answer = await transport.send(TransferRequest(.post, url: server.url(), body: [1])).answer
        #expect(answer?.status == 302)
        #expect(answer?.headers["location"] == other.url())
        #expect(other.connectionCount == 0)
        await transport.close()
    }

    @Test("an interim answer is skipped with its headers")
    func interimAnswer() async throws {
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send("HTTP/1.1 103 Early Hints\r\nEarly: yes\r\nRetry-After: 9\r\n\r\n")
            connection.answer("204 No Content", headers: ["Final: yes"])
        }
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let answer = await transport.send(TransferRequest(.get, url: server.url())).answer
        #expect(answer?.status == 204)
        #expect(answer?.headers["final"] == "yes")
        #expect(answer?.headers["early"] == nil)
        #expect(answer?.retryAfterSeconds == nil)
        await transport.close()
    }

    @Test(
        "a Retry-After in seconds or as a date is read and clamped",
        arguments: [
            ("120", 120...120), ("0", 0...0), ("99999999999999999", 31_536_000...31_536_000), ("soon", 0...0),
            ("-5", 0...0), ("Fri, 31 Dec 1999 23:59:59 GMT", 0...0),
            ("Fri, 31 Dec 2100 23:59:59 GMT", 31_536_000...31_536_000),
        ]
    )
    func retryAfter(value: String, seconds: ClosedRange<Int>) async throws {
        let server = try server("503 Service Unavailable", headers: ["rEtry-aFter: \(value)"])
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let answer = await transport.send(TransferRequest(.get, url: server.url())).answer
        #expect(answer?.retryAfterSeconds.map(seconds.contains) == true)
        await transport.close()
    }

    @Test("a Retry-After with a near date is read as seconds")
    func retryAfterDate() async throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let server = try server("429", headers: ["Retry-After: \(format.string(from: Date() + 600))"])
        defer { server.stop() }
        let transport = try CurlTransport.plain()
        let seconds = await transport.send(TransferRequest(.get, url: server.url())).answer?.retryAfterSeconds
        #expect((500...601).contains(try #require(seconds)))
        await transport.close()
    }
}
