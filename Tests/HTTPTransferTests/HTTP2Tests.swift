import HTTPTransfer
import Testing

@Suite(
    "HTTP/2 over TLS",
    .enabled(if: HTTP2Server.isAvailable, "nghttpd (nghttp2-server) and openssl are needed: HTTP/2 IS NOT TESTED"),
    .timeLimit(.minutes(5))
)
struct HTTP2Tests {
    @Test("250 requests at once share one connection and keep their order")
    func multiplexing() async throws {
        let server = try await HTTP2Server()
        var options = server.options("multiplexing")
        options.maxConnectionsPerHost = 1
        let transport = try CurlTransport(options)
        let requests = (0..<250).map {
            TransferRequest(.post, url: server.url("/\($0)"), body: Array("body \($0)".utf8))
        }
        let answers = await transport.send(requests).compactMap(\.answer)
        #expect(answers.count == 250)
        #expect(answers.allSatisfy { $0.status == 200 && $0.version == .http2 })
        #expect(answers.map { String(decoding: $0.body, as: UTF8.self) } == (0..<250).map { "body \($0)" })
        #expect(answers.map(\.newConnections).reduce(0, +) == 1)
        await transport.close()
    }

    @Test("a peer that allows one stream at a time is served one by one")
    func oneStream() async throws {
        let server = try await HTTP2Server(["--echo-upload", "-m", "1"])
        var options = server.options("one stream")
        options.maxConnectionsPerHost = 1
        let transport = try CurlTransport(options)
        let requests = (0..<50).map { TransferRequest(.post, url: server.url(), body: [UInt8($0)]) }
        let answers = await transport.send(requests).compactMap(\.answer)
        #expect(answers.map(\.body) == (0..<50).map { [UInt8($0)] })
        #expect(answers.map(\.newConnections).reduce(0, +) == 1)
        await transport.close()
    }

    @Test("several tasks send batches at the same time and each gets its own answers")
    func concurrentBatches() async throws {
        let server = try await HTTP2Server()
        let transport = try CurlTransport(server.options("batches"))
        await withTaskGroup(of: Bool.self) { group in
            for sender in 0..<20 {
                group.addTask {
                    let bodies = (0..<30).map { Array("\(sender)/\($0)".utf8) }
                    let requests = bodies.map { TransferRequest(.post, url: server.url(), body: $0) }
                    return await transport.send(requests).map { $0.answer?.body } == bodies
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        await transport.close()
    }

    @Test("a body of many frames arrives whole")
    func largeBody() async throws {
        let server = try await HTTP2Server()
        var options = server.options("large body")
        options.bodyLimit = 1 << 20
        let transport = try CurlTransport(options)
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let outcome = await transport.send(TransferRequest(.post, url: server.url(), body: body))
        #expect(outcome.error == nil)
        let isWhole = outcome.answer?.body == body
        #expect(isWhole)
        await transport.close()
    }

    @Test("a body over the cap ends its stream, not the connection")
    func cappedBody() async throws {
        let server = try await HTTP2Server()
        var options = server.options("capped body")
        options.bodyLimit = 1000
        let transport = try CurlTransport(options)
        let body = [UInt8](repeating: 7, count: 200_000)
        let capped = await transport.send(TransferRequest(.post, url: server.url(), body: body)).answer
        #expect(capped?.status == 200)
        #expect(capped?.isBodyTruncated == true)
        #expect(capped?.body == [UInt8](repeating: 7, count: 1000))
        let next = await transport.send(TransferRequest(.post, url: server.url(), body: [1, 2])).answer
        #expect(next?.body == [1, 2])
        #expect(next?.newConnections == 0)
        await transport.close()
    }

    @Test("a certificate of an authority that is not trusted stops the request")
    func wrongAuthority() async throws {
        let server = try await HTTP2Server()
        let other = try TestCertificate()
        var options = server.options("wrong authority")
        options.authoritiesFile = other.certificateFile
        let transport = try CurlTransport(options)
        let outcome = await transport.send(TransferRequest(.get, url: server.url()))
        #expect(outcome.notSent == .certificate)
        await transport.close()
    }

    @Test("a certificate for another host stops the request")
    func wrongHost() async throws {
        let server = try await HTTP2Server()
        let transport = try CurlTransport(server.options("wrong host"))
        let outcome = await transport.send(TransferRequest(.get, url: server.url("/secret-path", host: "127.0.0.1")))
        #expect(outcome.notSent == .certificate)
        #expect(outcome.error?.text.contains("127.0.0.1:\(server.port)") == true)
        #expect(outcome.error?.text.contains("secret-path") == false)
        await transport.close()
    }

    @Test("a peer that does not speak TLS is a failed handshake")
    func plainPeer() async throws {
        let server = try RawServer { connection in
            connection.send("hello, this is no TLS\r\n")
            connection.waitForPeerToClose()
        }
        defer { server.stop() }
        let transport = try CurlTransport(CurlTransportOptions(name: "plain peer"))
        let outcome = await transport.send(TransferRequest(.get, url: "https://127.0.0.1:\(server.port)/"))
        #expect(outcome.notSent == .tls)
        await transport.close()
    }

    @Test("a client certificate is shown to a peer that asks for one")
    func clientCertificate() async throws {
        let server = try await HTTP2Server(["--echo-upload", "-V"])
        let request = TransferRequest(.post, url: server.url(), body: [1])

        let anonymous = try CurlTransport(server.options("anonymous"))
        #expect(await anonymous.send(request).answer == nil)
        await anonymous.close()

        let own = try TestCertificate()
        var options = server.options("known")
        options.clientCertificate = .init(certificateFile: own.certificateFile, keyFile: own.keyFile)
        let known = try CurlTransport(options)
        #expect(await known.send(request).answer?.body == [1])
        await known.close()
    }
}
