import AMQP
import ServiceRuntime

/// The disturbance of the servers in one phase of W7.
enum Disturbance: String, Sendable, CaseIterable {
    case none, snapshot, readers, sessions, ends, checkpoints, neighbour, rows, recovered

    /// The phase, as people read it.
    var words: String {
        switch self {
        case .none: "undisturbed"
        case .snapshot: "an old snapshot"
        case .readers: "four readers of all rows"
        case .sessions: "90 % of the sessions taken"
        case .ends: "a session ends every 2 s"
        case .checkpoints: "a checkpoint every second"
        case .neighbour: "another tenant on the broker"
        case .rows: "many stored rows"
        case .recovered: "undisturbed again"
        }
    }

    /// Whether nothing disturbs the servers.
    var isCalm: Bool { self == .none || self == .recovered }

    private static let readerCount = 4

    /// Disturbs the servers for this time.
    ///
    /// `name` is the name of the workers' sessions.
    func run(on testbed: Testbed, for seconds: Double, workers name: String) async throws {
        switch self {
        case .none, .rows, .recovered: return
        case .snapshot:
            try await withServer(testbed, sessions: 1, seconds) { try await $0.holdSnapshot(seconds: seconds) }
        case .readers:
            try await withServer(testbed, sessions: Self.readerCount, seconds) { server in
                try await withThrowingDiscardingTaskGroup { group in
                    for _ in 0..<Self.readerCount {
                        group.addTask { try await repeating(for: seconds) { try await server.readEverything() } }
                    }
                }
            }
        case .sessions: try await takeSessions(of: testbed, for: seconds)
        case .ends:
            try await withServer(testbed, sessions: 1, seconds) { server in
                try await repeating(for: seconds, every: .seconds(2)) { _ = try await server.endSession(of: name) }
            }
        case .checkpoints:
            try await withServer(testbed, sessions: 1, seconds) { server in
                try await repeating(for: seconds, every: .seconds(1)) { try await server.checkpoint() }
            }
        case .neighbour: try await publishBeside(testbed, for: seconds)
        }
    }

    private func withServer(
        _ testbed: Testbed,
        sessions: Int,
        _ seconds: Double,
        _ body: @Sendable (BenchmarkServerBook) async throws -> Void
    ) async throws {
        // A statement may take as long as the phase.
        let patience = Duration.seconds(seconds + 60)
        try await testbed.setup.withPool(as: nil, name: "bench, disturbing", size: sessions, patience: patience) {
            try await body(BenchmarkServerBook(pool: $0))
        }
    }

    private func takeSessions(of testbed: Testbed, for seconds: Double) async throws {
        let (permitted, open) = try await testbed.server.sessions()
        let count = permitted * 9 / 10 - open
        guard count > 0 else { return }
        try await withServer(testbed, sessions: count, seconds) { server in
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<count { group.addTask { try await server.holdSession(seconds: seconds) } }
            }
        }
    }

    /// Publishes messages of 1 KiB to a separate queue, which keeps the latest 10,000 of them.
    private func publishBeside(_ testbed: Testbed, for seconds: Double) async throws {
        let queue = testbed.neighbourQueue
        let broker = try testbed.setup.broker()
        try await BrokerSession.with(broker, name: "bellhop bench, a neighbour") { session in
            _ = try session.declareQueue(queue, arguments: ["x-max-length": .int64(10_000)])
        }
        let message = OutgoingMessage(
            exchange: "",
            routingKey: queue,
            properties: MessageProperties(contentType: "text/plain"),
            body: Array(repeating: UInt8(ascii: "n"), count: 1_024)
        )
        try await repeating(for: seconds) { try await testbed.insist(Array(repeating: message, count: 500)) }
        _ = try await BrokerSession.with(broker, name: "bellhop bench, a neighbour") { try $0.deleteQueue(queue) }
    }
}

/// Repeats work for this time, without a pause or at an interval.
private func repeating(for seconds: Double, every interval: Duration = .zero, _ body: () async throws -> Void)
    async throws
{
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    var turn = clock.now
    while clock.now < end {
        try await body()
        turn = max(turn + interval, clock.now)
        try await clock.sleep(until: min(turn, end))
    }
}
