import Foundation
import TestSupport
import Testing

@testable import AMQP

@Suite(
    "TLS",
    .limitedConcurrency,
    .enabled(if: PrivateBroker.isPossible, Comment(rawValue: PrivateBroker.absence)),
    .timeLimit(.ofTest)
)
struct TLSTests {
    private func address(
        _ host: String = "localhost",
        port: Int? = nil,
        authority: KeyPath<Certificates, String>? = \.authority,
        isKnown: Bool = true
    ) async throws -> BrokerAddress {
        let broker = try await PrivateBroker.shared()
        var options: [String] = []
        if let authority { options.append("cacertfile=\(broker.certificates[keyPath: authority])") }
        if isKnown {
            options.append("certfile=\(broker.certificates.client)&keyfile=\(broker.certificates.clientKey)")
        }
        let query = options.isEmpty ? "" : "?" + options.joined(separator: "&")
        return try BrokerAddress(validating: "amqps://guest:guest@\(host):\(port ?? broker.tlsPort)/" + query)
    }

    private func refusal(_ address: BrokerAddress) async -> AMQPError? {
        await failure { try await BrokerSession.with(address, name: "test") { _ in } }
    }

    @Test(
        "messages of every size pass in both directions, by host name and by IP address",
        arguments: ["localhost", "127.0.0.1"]
    )
    func roundTrip(host: String) async throws {
        let address = try await address(host)
        let queue = Servers.uniqueName("amqp_tls")
        try await BrokerSession.with(address, name: "test") {
            try $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        }
        let publisher = Publisher(.init(broker: address, name: "test"))
        publisher.start()
        let sizes = [0, 1, 16_384, 16_385, 131_072, 1_000_000] + Array(repeating: 300, count: 500)
        let messages = sizes.map {
            OutgoingMessage(exchange: "", routingKey: queue, body: (0..<$0).map { UInt8(truncatingIfNeeded: $0) })
        }
        #expect(await publisher.publish(messages) == messages.map { _ in .confirmed })
        await publisher.close()
        let consumer = Consumer(
            .init(broker: address, name: "test", subscriptions: [.init(queue: queue, prefetch: 50)])
        )
        consumer.start()
        let taken = try await consumer.collect(messages.count)
        #expect(taken.map(\.body) == messages.map(\.body))
        await consumer.close()
        try await BrokerSession.with(address, name: "test") { try $0.deleteQueue(queue) }
    }

    @Test("an acknowledgement wakes an idle TLS connection")
    func promptAcknowledgement() async throws {
        let address = try await address()
        let queue = Servers.uniqueName("amqp_tls")
        try await BrokerSession.with(address, name: "test") {
            try $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        }
        let publisher = Publisher(.init(broker: address, name: "test"))
        publisher.start()
        _ = await publisher.publish(Broker.messages(40, to: queue))
        await publisher.close()
        let consumer = Consumer(.init(broker: address, name: "test", subscriptions: [.init(queue: queue, prefetch: 1)]))
        consumer.start()
        #expect(try await consumer.collect(40).count == 40)
        await consumer.close()
        try await BrokerSession.with(address, name: "test") { try $0.deleteQueue(queue) }
    }

    @Test("a broker with an untrusted authority is rejected")
    func strangeAuthority() async throws {
        let error = await refusal(try await address(authority: \.strangeAuthority))
        #expect(error?.code == .tls)
        #expect(error?.description.contains("certificate verify failed") == true)
        let byDefault = await refusal(try await address(authority: nil))
        #expect(byDefault?.code == .tls, "the system's authorities do not know it either")
    }

    @Test("a certificate for another host is rejected")
    func otherHost() async throws {
        // It resolves to 127.0.0.1, OpenSSL does not treat it as an address, and no certificate names it.
        let error = await refusal(try await address("127.1"))
        #expect(error?.code == .tls)
        #expect(error?.description.contains("verify failed") == true)
    }

    @Test("a certificate that names the host only in its subject is rejected")
    func subjectAlone() async throws {
        let broker = try await PrivateBroker.shared()
        let port = try #require(try PrivateBroker.freePorts(1).first)
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        server.arguments = [
            "s_server", "-accept", "127.0.0.1:\(port)", "-quiet", "-cert", broker.certificates.named, "-key",
            broker.certificates.namedKey,
        ]
        server.standardInput = Pipe()
        server.standardOutput = FileHandle.nullDevice
        server.standardError = FileHandle.nullDevice
        try server.run()
        defer { server.terminate() }
        let address = try await address(port: port, isKnown: false)
        let deadline = ContinuousClock.now + LongestWait.duration
        var error = await refusal(address)
        while error?.code == .unreachable, ContinuousClock.now < deadline { error = await refusal(address) }
        #expect(error?.description.contains("verify failed") == true)
    }

    @Test("the broker rejects a client without a certificate")
    func unknownClient() async throws {
        let error = await refusal(try await address(isKnown: false))
        #expect(error != nil)
        #expect(error?.code != .accessRefused, "it fails before the password is asked for")
    }

    @Test("the error names a key or an authority that cannot be read")
    func unreadableFiles() async throws {
        let absent = await refusal(try BrokerAddress(validating: "amqps://localhost?cacertfile=/absent/ca.pem"))
        #expect(absent?.code == .tls)
        #expect(absent?.description.contains("/absent/ca.pem") == true)
        let keys = "certfile=/absent/cert.pem&keyfile=/absent/key.pem"
        let noKey = await refusal(try BrokerAddress(validating: "amqps://localhost?\(keys)"))
        #expect(noKey?.code == .tls)
        #expect(noKey?.description.contains("/absent/cert.pem") == true)
    }

    @Test("plain text instead of TLS, and TLS instead of plain text, end in errors")
    func wrongPort() async throws {
        let broker = try await PrivateBroker.shared()
        #expect(await refusal(try await address(port: broker.port))?.code == .tls)
        let plain = try BrokerAddress(validating: "amqp://127.0.0.1:\(broker.tlsPort)?connection_timeout=3000")
        #expect(await refusal(plain) != nil)
    }
}
