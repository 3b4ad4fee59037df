import ServiceRuntime
import Synchronization
import TestSupport

@testable import AMQP

/// The shared broker, for suites that are enabled only if it is set.
enum Broker {
    static let isThere = Servers.amqpURL != nil
    static let absence = "needs a broker: set BELLHOP_AMQP_URL"

    static var address: BrokerAddress {
        get throws { try BrokerAddress(validating: url) }
    }

    static var url: String { Servers.amqpURL ?? "amqp://127.0.0.1:1" }

    /// Returns a URL with the shared broker's user and these hosts: `host:port`, several separated by commas.
    static func url(on hosts: String, password: String? = nil, virtualHost: String? = nil) throws -> String {
        let address = try address
        let encoded = [address.user, password ?? address.password, virtualHost ?? address.virtualHost]
            .map(PercentEncoding.encode)
        return "amqp://\(encoded[0]):\(encoded[1])@\(hosts)/\(encoded[2])"
    }

    /// Returns the shared broker's address behind a proxy.
    ///
    /// A heartbeat of one second quickly detects a vanished peer.
    static func address(behind proxy: TCPProxy, heartbeat: Int = 1) throws -> BrokerAddress {
        try BrokerAddress(validating: proxy.url(replacingHostOf: url) + "?heartbeat=\(heartbeat)")
    }

    static func proxy() throws -> TCPProxy {
        let host = try address.hosts[0]
        return try TCPProxy(to: host.name, Int(host.port))
    }

    /// Runs `body` with a new quorum queue, which is deleted afterwards.
    static func withQueue(
        _ arguments: FieldTable = ["x-queue-type": "quorum"],
        _ body: (String) async throws -> Void
    ) async throws {
        let queue = Servers.uniqueName("amqp_test")
        try await session { try $0.declareQueue(queue, arguments: arguments) }
        do {
            try await body(queue)
        } catch {
            try await session { try $0.deleteQueue(queue) }
            throw error
        }
        try await session { try $0.deleteQueue(queue) }
    }

    @discardableResult
    static func session<Value: Sendable>(
        _ body: @escaping @Sendable (BrokerSession) throws -> Value
    ) async throws -> Value {
        try await BrokerSession.with(try address, name: "test", body)
    }

    /// Publishes messages and requires their confirms.
    static func publish(_ messages: [OutgoingMessage]) async throws {
        let publisher = Publisher(.init(broker: try address, name: "test-publisher"))
        publisher.start()
        let outcomes = await publisher.publish(messages)
        await publisher.close()
        for outcome in outcomes where outcome != .confirmed { throw Unexpected("published: \(outcome)") }
    }

    static func messages(_ count: Int, to queue: String, size: Int = 16) -> [OutgoingMessage] {
        (0..<count).map { index in
            OutgoingMessage(
                exchange: "",
                routingKey: queue,
                properties: .init(contentType: "application/json", messageID: "m\(index)"),
                body: Array(repeating: UInt8(truncatingIfNeeded: index), count: size)
            )
        }
    }
}

/// An error with which a test stops.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Returns the error that `body` throws, if it is an `AMQPError`.
func failure<Value>(_ body: () throws -> Value) -> AMQPError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? AMQPError
    }
}

/// Returns the error that `body` throws, if it is an `AMQPError`.
func failure<Value>(_ body: () async throws -> Value) async -> AMQPError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? AMQPError
    }
}

/// Collects the events of an observer.
final class EventLog: Sendable {
    private let events = Mutex<[ConnectionEvent]>([])

    var observer: @Sendable (ConnectionEvent) -> Void {
        { event in self.events.withLock { $0.append(event) } }
    }

    var all: [ConnectionEvent] { events.withLock { $0 } }

    func count(where matches: (ConnectionEvent) -> Bool) -> Int { all.count(where: matches) }

    var connections: Int {
        count { if case .connected = $0 { true } else { false } }
    }

    var losses: Int {
        count { if case .disconnected = $0 { true } else { false } }
    }
}

/// Runs a blocking body on a separate thread, so that the other tests continue.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { answer in
        NativeThread.start(named: "test-blocking", stackSize: BrokerConnection.stackSize) {
            answer.resume(with: Result { try body() })
        }
    }
}

extension Consumer {
    /// Takes messages until `count` have arrived, and returns all of them.
    func collect(_ count: Int, settling: Bool = true) async throws -> [IncomingMessage] {
        var taken: [IncomingMessage] = []
        let end = ContinuousClock.now + LongestWait.duration
        while taken.count < count {
            let left = ContinuousClock.now.duration(to: end)
            guard let batch = await next(atMost: count - taken.count, within: left) else {
                throw Unexpected("\(taken.count) of \(count) messages came")
            }
            taken += batch
            if settling { acknowledge(batch.map(\.tag)) }
        }
        return taken
    }

    /// Calls `next` with a time limit.
    func next(atMost count: Int, within limit: Duration) async -> [IncomingMessage]? {
        let waiting = Task { await next(atMost: count) }
        let timer = Task {
            try await Task.sleep(for: limit)
            waiting.cancel()
        }
        defer { timer.cancel() }
        return await waiting.value
    }
}
