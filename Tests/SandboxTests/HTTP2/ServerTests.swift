import Foundation
import HTTPServer
import HTTPTransfer
import ServiceRuntime
import TLS
import TestSupport
import Testing

@testable import Sandbox

@Suite("The HTTP/2 server", .limitedConcurrency, .timeLimit(.ofTest))
struct ServerTests {
    private let message = #"{"message":{"token":"device-1"}}"#

    @Test("random bytes on the TLS port end only their own connection")
    func survivesGarbage() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            let port = client.sandbox.address.port
            var generator = SplitMix(seed: 42)
            let noise = (0..<4_096).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let attempts = [
                noise, Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), [0x16, 0x03, 0x01, 0xFF, 0xFF] + noise,
            ]
            for bytes in attempts {
                let raw = try #require(RawClient(port: port))
                raw.send(bytes)
                // A record that is shorter than its length field makes the server wait, as it should.
                if bytes.first != 0x16 { #expect(await raw.isClosedByServer()) }
                #expect(try await client.send(message, bearer: bearer).status == 200)
            }
            try await eventually { client.sandbox.openConnections <= 2 }
        }
    }

    @Test("a client that does not finish the handshake in time is cut off")
    func limitsHandshakes() async throws {
        try await withSandbox {
            $0.limits.handshakeTimeout = .milliseconds(100)
        } _: { client in
            let silent = try #require(RawClient(port: client.sandbox.address.port))
            #expect(await silent.isClosedByServer())
            try await eventually { client.sandbox.openConnections == 0 }
        }
    }

    @Test("a client that does not offer h2 is rejected in the handshake")
    func insistsOnHTTP2() async throws {
        try await withSandbox { client in
            let address = client.sandbox.address
            let (status, said) = await onOwnThread { Self.connectWithoutHTTP2(to: address) }
            #expect(status != 0)
            #expect(said.contains("no application protocol"), "\(said)")
        }
    }

    /// Returns the exit status and the output of a TLS client that offers only HTTP/1.1.
    private static func connectWithoutHTTP2(to address: ListenAddress) -> (status: Int32, said: String) {
        let output = Pipe()
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        program.arguments = ["openssl", "s_client", "-connect", "\(address)", "-alpn", "http/1.1", "-brief"]
        program.standardInput = FileHandle.nullDevice
        program.standardOutput = output
        program.standardError = output
        guard (try? program.run()) != nil else { return (0, "openssl cannot be run") }
        let said = output.fileHandleForReading.readDataToEndOfFile()
        program.waitUntilExit()
        return (program.terminationStatus, String(decoding: said, as: UTF8.self))
    }

    @Test("a client that does not trust the authority does not connect")
    func isTrustedByAuthorityOnly() async throws {
        try await withSandbox { client in
            let stranger = try CurlTransport(CurlTransportOptions(name: "stranger"))
            let outcomes = await stranger.send([client.request(message, bearer: nil)])
            await stranger.close()
            guard case .notSent = try #require(outcomes.first) else {
                throw Unanswered(outcome: "\(outcomes)")
            }
            #expect(client.sandbox.received().isEmpty)
        }
    }

    @Test("a request over the limits gets 413 or 431, and the connection continues")
    func limitsRequests() async throws {
        try await withSandbox {
            $0.limits.bodyBytes = 10_000
            $0.limits.headerBytes = 2_000
        } _: { client in
            let bearer = try await client.accessToken()
            let large = String(repeating: "x", count: 300_000)
            #expect(try await client.send(large, bearer: bearer).status == 413)
            var long = client.request(message, bearer: bearer)
            long.headers.append((name: "x-long", value: String(repeating: "x", count: 3_000)))
            #expect(try await client.answer(long).status == 431)
            #expect(try await client.send(message, bearer: bearer).status == 200)
            #expect(client.sandbox.received(.fcm).count == 1)
            #expect(Set(client.sandbox.received().map(\.connection)).count == 1)
        }
    }

    @Test("streams over the limit are rejected before they are processed")
    func refusesStreams() async throws {
        try await withSandbox {
            $0.limits.concurrentStreams = 2
        } _: { client in
            let request = client.request(message, bearer: try await client.accessToken())
            let (port, authorities) = (client.sandbox.address.port, client.sandbox.caFile)
            let ends = await onOwnThread { Self.endsOfStreams(request, to: port, trusting: authorities) }
            #expect(ends == [1: .headers, 3: .headers, 5: .reset, 7: .reset])
            #expect(client.sandbox.received(.fcm).count == 2)
        }
    }

    /// Sends four requests on one connection before it has received the server's limit, and returns the kind of the
    /// first frame on each stream.
    ///
    /// The first two requests end only after all four have begun.
    private static func endsOfStreams(
        _ request: TransferRequest,
        to port: UInt16,
        trusting authorities: String
    ) -> [UInt32: Frame.Kind] {
        guard let raw = RawClient(port: port), let context = try? TLSClientContext(authoritiesFile: authorities),
            let tls = context.makeConnection(over: raw.descriptor, to: "127.0.0.1")
        else { return [:] }
        let channel = FrameChannel(tls)
        guard channel.shakeHands() else { return [:] }
        var frames = [Frame.settings()]
        for stream in [1, 3, 5, 7] as [UInt32] { frames.append(.headers(stream, fields(of: request, port: port))) }
        for stream in [1, 3] as [UInt32] {
            frames.append(Frame(kind: .data, flags: Frame.endsStream, stream: stream, payload: request.body))
        }
        channel.send(Frame.preface + frames.flatMap(\.encoded))
        var ends: [UInt32: Frame.Kind] = [:]
        while ends.count < 4, let frame = channel.next() {
            guard frame.stream > 0, ends[frame.stream] == nil, let kind = frame.kind, kind != .windowUpdate else {
                continue
            }
            ends[frame.stream] = kind
        }
        return ends
    }

    private static func fields(of request: TransferRequest, port: UInt16) -> [(String, String)] {
        let path = String(request.url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" })
        let head = [(":method", "POST"), (":scheme", "https"), (":authority", "127.0.0.1:\(port)"), (":path", path)]
        return head + request.headers.map { ($0.name, $0.value) }
    }

    @Test("a client that uses one stream at a time gets every answer")
    func limitsStreams() async throws {
        try await withSandbox {
            $0.limits.concurrentStreams = 1
        } _: { client in
            let bearer = try await client.accessToken()
            let requests = (0..<50).map { _ in client.request(message, bearer: bearer) }
            try await client.withPushTransport { transport in
                let outcomes = await transport.send(requests)
                #expect(outcomes.count == 50)
            }
            #expect(client.sandbox.received(.fcm).count == 50)
        }
    }

    @Test("connections over the limit wait until others have closed")
    func limitsConnections() async throws {
        try await withSandbox {
            $0.limits.connections = 2
        } _: { client in
            let port = client.sandbox.address.port
            var idle = [RawClient(port: port), RawClient(port: port)]
            try await eventually { client.sandbox.openConnections == 2 }
            async let token = client.accessToken()
            idle.removeAll()
            let late = try await token
            #expect(!late.isEmpty)
        }
    }

    @Test("a stop sends delayed answers and accepts nothing new")
    func stopsInOrder() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            client.sandbox.setFaults([SandboxFault(.fcm, .delay, delay: .milliseconds(300))])
            async let outcomes = client.transport.send([client.request(message, bearer: bearer)])
            try await eventually { client.sandbox.summary.providers[.fcm] != nil }
            await client.sandbox.stop(grace: LongestWait.duration)
            guard case .answered(let answer) = try #require(await outcomes.first) else {
                throw Unanswered(outcome: "cut off")
            }
            #expect(answer.status == 200)
            #expect(client.sandbox.openConnections == 0)
            #expect(RawClient(port: client.sandbox.address.port) == nil)
        }
    }

    @Test("a stop with a short grace period cuts off waiting requests")
    func stopsAtOnce() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            client.sandbox.setFaults([SandboxFault(.fcm, .delay, delay: .seconds(600))])
            async let outcomes = client.transport.send([client.request(message, bearer: bearer)])
            try await eventually { client.sandbox.summary.providers[.fcm] != nil }
            await client.sandbox.stop(grace: .milliseconds(50))
            guard case .unknown = try #require(await outcomes.first) else {
                throw Unanswered(outcome: "answered in spite of the delay")
            }
            #expect(client.sandbox.openConnections == 0)
        }
    }

    @Test("a client that disconnects during its requests leaves no connection behind")
    func forgetsLostClients() async throws {
        try await withSandbox { client in
            let bearer = try await client.accessToken()
            client.sandbox.setFaults([SandboxFault(.fcm, .delay, delay: .seconds(600))])
            try await client.withPushTransport { transport in
                let waiting = Task {
                    await transport.send((0..<20).map { _ in client.request(message, bearer: bearer) })
                }
                try await eventually { client.sandbox.summary.providers[.fcm]?.received == 20 }
                waiting.cancel()
                _ = await waiting.value
            }
            await client.transport.close()
            try await eventually { client.sandbox.openConnections == 0 }
        }
    }

    @Test("the server is freed after it has stopped")
    func freesItself() async throws {
        weak var loop: ServerLoop?
        do {
            let authority = try CertificateAuthority(now: SystemTime().now())
            let order = CertificateRequest(
                names: CertificateRequest.usualNames,
                validity: SystemTime().now() - .seconds(60)..<SystemTime().now() + .seconds(60)
            )
            let tls = try authority.issue(order).serverContext()
            let socket = try ListeningSocket.listen(on: ListenAddress(host: "127.0.0.1", port: 0))
            let server = try HTTP2Server.start(socket, tls, HTTP2Limits(), UncheckedHandler())
            loop = server.loop
            let client = try #require(RawClient(port: server.address.port))
            try await eventually { server.openConnections == 1 }
            await server.stop(grace: .zero)
            #expect(await client.isClosedByServer())
        }
        try await eventually { loop == nil }
    }
}
