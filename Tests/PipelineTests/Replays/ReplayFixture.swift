import BellhopRules
import IntegrationSupport
import Postgres
import Push
import Sandbox
import Store
import TestSupport
import Testing

/// A provider peer with an operator's dead-letter commands.
struct ReplayFixture: Sendable {
    let peer: ProviderPeer
    let book: ReplayAdmin
    let admin: DeadLetterAdmin

    var pipeline: PipelineFixture { peer.pipeline }
    var servers: ServerFixture { peer.pipeline.servers }

    static let ada = ActingOperator(name: "ada", because: "a test")

    static func with(
        over provider: PushProvider = .fcm,
        _ body: @escaping @Sendable (ReplayFixture) async throws -> Void
    ) async throws {
        try await ProviderPeer.run(over: provider) { peer in
            let admin = try ServerFixture.makePool(setUp: peer.pipeline.servers.namespace.setUp(as: .admin))
            let fixture = ReplayFixture(
                peer: peer,
                book: ReplayAdmin(pool: admin),
                admin: DeadLetterAdmin(pool: admin)
            )
            let result: Result<Void, any Error>
            do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
            await admin.close()
            try result.get()
        }
    }

    // MARK: - Actions of tests

    /// Makes FCM reject every message permanently, until a test changes its answers.
    func refuseAll() {
        peer.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT")))])
    }

    func takeAll() {
        peer.sandbox.setFaults([])
    }

    /// Publishes notifications that FCM rejects, and waits until each is a dead letter.
    func die(_ ids: [String], user: String = "u1") async throws {
        try await peer.register([(user, "token-\(user)")])
        refuseAll()
        try await peer.publish(ids, to: [user])
        try await pipeline.wait(for: ids.count, "SELECT count(*) FROM dead_letters WHERE state = 'open'")
        try await pipeline.wait(for: ids.count, "SELECT count(*) FROM deliveries WHERE state = 'failed'")
    }

    func order(
        _ filter: DeadLetterFilter = DeadLetterFilter(),
        pace: ReplayOrder.Pace = .init(),
        perItem: Int = 5
    ) -> ReplayOrder {
        let limits = ReplayLimits(perItem: perItem, failedSince: DeadLetterSamples.ago(86_400))
        return ReplayOrder(filter, limits: limits, pace: pace)
    }

    /// Starts a replay of every open item, or of the items that a filter selects, and returns its number.
    func start(
        _ filter: DeadLetterFilter = DeadLetterFilter(),
        pace: ReplayOrder.Pace = .init()
    ) async throws -> Int64 {
        let outcome = try await book.start(order(filter, pace: pace), agreed: 100_000, by: Self.ada)
        guard case .started(let id, _) = outcome else {
            throw ServerFixtureError("the replay did not begin: \(outcome)")
        }
        return id
    }

    /// Waits until the replay meets a condition, and returns it.
    func wait(
        for id: Int64,
        _ isThere: (ReplayProgress) -> Bool = { $0.isFinished }
    ) async throws -> ReplayProgress {
        var progress: ReplayProgress?
        try await eventually("replay \(id) gets there; it is \(String(describing: progress))") {
            progress = try await book.progress(of: id)
            return progress.map(isThere) ?? false
        }
        return try #require(progress)
    }

    /// Returns every item as text: state, failures, replays, resolution.
    func items() async throws -> [String?] {
        try await servers.column(
            "SELECT concat_ws('|', state, deaths, replays, resolution) FROM dead_letters ORDER BY event_id, dead_id"
        )
    }
}

/// Whether this run has both servers.
let serversAreThere = Servers.amqpURL != nil && Servers.databaseURL != nil
