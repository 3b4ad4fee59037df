import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Sessions",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct BrokerSessionTests {
    @Test("a topology is declared, checked, bound, used and deleted")
    func topology() async throws {
        let name = Servers.uniqueName("amqp_topology")
        let quorum: FieldTable = [
            "x-queue-type": "quorum", "x-delivery-limit": 20, "x-dead-letter-exchange": .string(name),
        ]
        try await Broker.session { session in
            #expect(try session.checkExchange(name) == false)
            #expect(try session.checkQueue(name) == nil)
            try session.declareExchange(name, kind: "topic", arguments: ["alternate-exchange": "amq.fanout"])
            try session.declareExchange(name, kind: "topic", arguments: ["alternate-exchange": "amq.fanout"])
            #expect(try session.checkExchange(name))
            #expect(try session.declareQueue(name, arguments: quorum) == session.checkQueue(name))
            try session.bind(name, to: name, key: "app.*")
            try session.bind(name, to: name, key: "app.*")
        }
        try await Broker.publish([OutgoingMessage(exchange: name, routingKey: "app.test", body: [1, 2, 3])])
        try await Broker.session { session in
            try session.unbind(name, from: name, key: "app.*")
            try session.unbind(name, from: name, key: "app.*")
            let message = try session.get(name)
            #expect(message?.body == [1, 2, 3])
            #expect(message?.exchange == name)
            #expect(message?.routingKey == "app.test")
            try session.deleteQueue(name)
            try session.deleteExchange(name)
            try session.deleteQueue(name)
            try session.deleteExchange(name)
            #expect(try session.checkExchange(name) == false)
        }
    }

    @Test("a refusal has its reply code and leaves the session usable")
    func refusals() async throws {
        try await Broker.withQueue { queue in
            try await Broker.session { session in
                let mismatch = failure { try session.declareQueue(queue, arguments: ["x-queue-type": "classic"]) }
                #expect(mismatch?.code == .preconditionFailed)
                #expect(mismatch?.replyCode == 406)
                #expect(mismatch?.description.contains(queue) == true)
                let absent = failure { try session.get("absent-" + queue) }
                #expect(absent?.code == .notFound)
                #expect(absent?.replyCode == 404)
                let unbound = failure { try session.bind(queue, to: "absent-" + queue, key: "x") }
                #expect(unbound?.code == .notFound)
                let reserved = failure { try session.declareExchange("amq.reserved", kind: "direct") }
                #expect(reserved?.code == .accessRefused)
                let long = failure { try session.declareQueue(String(repeating: "q", count: 256)) }
                #expect(long?.code == .invalidArgument)
                let counts = try session.checkQueue(queue)
                #expect(counts != nil)
            }
        }
    }

    /// Up to RabbitMQ 3 this ends the connection, from 4 on only the channel.
    @Test("an unknown kind of exchange is rejected, and the error names the kind")
    func unknownKind() async throws {
        let error = await failure {
            try await Broker.session { try $0.declareExchange("amqp_test_kind", kind: "no-such-kind") }
        }
        #expect(error?.code == (error?.replyCode == 406 ? .preconditionFailed : .connectionClosed))
        #expect(error?.replyCode == 406 || error?.replyCode == 503)
        #expect(error?.description.contains("no-such-kind") == true)
    }

    @Test("fetched messages are settled separately, and the rest returns to the queue")
    func fetching() async throws {
        try await Broker.withQueue { queue in
            try await Broker.publish(Broker.messages(4, to: queue, size: 300_000))
            try await Broker.session { session in
                let messages = try (0..<4).compactMap { _ in try session.get(queue) }
                #expect(messages.map(\.properties.messageID) == ["m0", "m1", "m2", "m3"])
                #expect(messages.map(\.body.count) == Array(repeating: 300_000, count: 4))
                #expect(try session.get(queue) == nil)
                try session.acknowledge(messages[1].tag)
                try session.acknowledge(messages[1].tag)
                try session.release(messages[0].tag)
                #expect(try session.get(queue)?.properties.messageID == "m0")
            }
            try await eventually("the unsettled three are back") {
                try await Broker.session { session in
                    let found = try (0..<4).compactMap { _ in try session.get(queue)?.properties.messageID }
                    return Set(found) == ["m0", "m2", "m3"]
                }
            }
        }
    }

    @Test("a tag from before a refusal is ignored, and its message is redelivered")
    func staleTag() async throws {
        try await Broker.withQueue { queue in
            try await Broker.publish(Broker.messages(1, to: queue))
            try await Broker.session { session in
                let first = try session.get(queue)
                #expect(try session.checkQueue("absent-" + queue) == nil)
                if let first { try session.acknowledge(first.tag) }
            }
            try await eventually("it is back") {
                try await Broker.session { try $0.get(queue)?.properties.messageID } == "m0"
            }
        }
    }

    @Test("purging returns the number of deleted messages")
    func purge() async throws {
        try await Broker.withQueue { queue in
            try await Broker.publish(Broker.messages(7, to: queue))
            #expect(try await Broker.session { try $0.purge(queue) } == 7)
            #expect(try await Broker.session { try $0.get(queue) } == nil)
        }
    }

    @Test("a wrong password, an unknown virtual host and an unreachable broker give different errors")
    func logins() async throws {
        let host = try Broker.address.hosts[0]
        func code(_ url: String) async throws -> AMQPError.Code? {
            let address = try BrokerAddress(validating: url)
            let error = await failure { try await BrokerSession.with(address, name: "test") { _ in } }
            #expect(error?.description.contains("wr0ng") == false)
            return error?.code
        }
        #expect(try await code(Broker.url(on: "\(host)", password: "wr0ng")) == .accessRefused)
        #expect(try await code(Broker.url(on: "\(host)", virtualHost: "no-such-host")) == .accessRefused)
        #expect(try await code(Broker.url(on: "127.0.0.1:1")) == .unreachable)
        #expect(try await code(Broker.url(on: "no-such-host.invalid")) == .unreachable)
    }

    @Test("the second host is used if the first is unreachable, and a silent one times out")
    func hosts() async throws {
        let host = try Broker.address.hosts[0]
        let reachable = try BrokerAddress(validating: Broker.url(on: "127.0.0.1:1,\(host)"))
        #expect(try await BrokerSession.with(reachable, name: "test") { try $0.checkExchange("amq.direct") })
        let proxy = try Broker.proxy()
        proxy.blackHole(true)
        let silent = try BrokerAddress(
            validating: Broker.url(on: "127.0.0.1:\(proxy.port)") + "?connection_timeout=300"
        )
        let error = await failure { try await BrokerSession.with(silent, name: "test") { _ in } }
        #expect(error?.code == .timedOut)
        proxy.stop()
    }

    @Test("an error of the body is thrown, and the connection is closed")
    func ownErrors() async throws {
        await #expect(throws: Unexpected.self) {
            try await Broker.session { _ in throw Unexpected("mine") }
        }
    }
}
