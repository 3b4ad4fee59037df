import AMQP
import Foundation
import IntegrationSupport
import Postgres
import Sandbox
import ServiceRuntime
import TestSupport

/// A stage with the app drop, whose providers are emulated, and a second app whose users have only the inbox.
struct BacklogFixture: Sendable {
    let stage: Stage
    let sandbox: ProviderSandbox
    let producer: Producer

    /// Runs a body with a worker and a scheduler, and drains both.
    static func with(
        _ settings: [String: String] = [:],
        _ body: @escaping @Sendable (BacklogFixture) async throws -> Void
    ) async throws {
        try await Stage.with { stage in
            let sandbox = try await ProviderSandbox.start()
            let result: Result<Void, any Error>
            do {
                let file = try ProvidersFile(in: stage.folder, ["drop": sandbox])
                let changes = settings.merging(["BELLHOP_PROVIDERS": file.path]) { $1 }
                let roles = [try await stage.worker(changes), try await stage.scheduler(changes)]
                try await Producer.with(try stage.broker) { producer in
                    try await body(BacklogFixture(stage: stage, sandbox: sandbox, producer: producer))
                }
                for role in roles { try await role.drain() }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await sandbox.stop(grace: .zero)
            try result.get()
        }
    }

    // MARK: - Input

    func message(_ key: String, _ body: String) -> OutgoingMessage {
        OutgoingMessage(exchange: stage.names.events, routingKey: key, body: Array(body.utf8))
    }

    func publish(_ messages: [OutgoingMessage]) async throws {
        let outcomes = await producer.publisher.publish(messages)
        guard outcomes.allSatisfy({ $0 == .confirmed }) else { throw ProofFailure("a message was not confirmed") }
    }

    func event(_ id: String, to user: String, _ type: String = "drop.transaction_complete") -> OutgoingMessage {
        message(type, #"{"id":"\#(id)","to":{"user":"\#(user)"},"title":"Hei","body":"på deg"}"#)
    }

    /// Registers a device at a provider for each of these users.
    func register(_ users: [String], at provider: String) async throws {
        let known = try await stage.count("push_subscriptions")
        try await publish(
            users.map { user in
                let token = provider == "expo" ? "ExponentPushToken[\(user)]" : user
                let device = #""token":"\#(token)","platform":"android","provider":"\#(provider)""#
                return message("drop.subscription.upserted", #"{"userId":"\#(user)",\#(device)}"#)
            }
        )
        try await eventually("the devices are registered") {
            try await stage.count("push_subscriptions") == known + users.count
        }
    }

    // MARK: - Results

    func wait(_ what: String, _ count: Int, _ table: String) async throws {
        try await eventually(what, atMost: .proof) { try await stage.count(table) >= count }
    }

    /// Returns the number of deliveries that were sent after one that had been published later by more than `distance`.
    func overtaken(by distance: Duration, at moment: String, where condition: String) async throws -> Int {
        let rows = try await stage.owner.run(
            Statement(
                """
                SELECT count(*) FROM (
                    SELECT n.created_at, max(n.created_at) OVER (
                        ORDER BY d.\(moment) RANGE BETWEEN UNBOUNDED PRECEDING AND interval '1 us' PRECEDING
                    ) AS latest
                    FROM deliveries d
                    JOIN notifications n ON n.app = d.app AND n.user_id = d.user_id AND n.id = d.notification_id
                    WHERE \(condition)
                ) AS sent
                WHERE created_at < latest - $1::bigint * interval '1 ms'
                """
            ),
            [.integer(distance.components.seconds * 1_000)]
        )
        return Int(clamping: try rows.integer(0, 0))
    }

    /// Publishes events of another app in turn, and returns the times from publishing to recording in milliseconds.
    ///
    /// Their users have only the inbox.
    func neighbours(_ name: String, _ count: Int) async throws -> Latencies {
        var published: [String: Double] = [:]
        for number in 0..<count {
            let user = "\(name)\(number)"
            published[user] = Double(SystemTime().now().microseconds) / 1_000
            try await publish([event(user, to: user, "safe.INCOMING_ETHER")])
        }
        try await wait("the neighbour's are recorded", count, "notifications WHERE user_id LIKE '\(name)%'")
        let rows = try await stage.owner.run(
            "SELECT user_id, (extract(epoch FROM created_at) * 1e6)::bigint FROM notifications WHERE app = 'safe'"
        )
        var spans: [Double] = []
        for row in rows.indices {
            guard let began = published[try rows.text(row, 0)] else { continue }
            spans.append(Double(try rows.integer(row, 1)) / 1_000 - began)
        }
        return Latencies(spans)
    }
}

/// Durations in milliseconds, as reported.
struct Latencies: CustomStringConvertible {
    private let spans: [Double]

    init(_ spans: [Double]) {
        self.spans = spans.sorted()
    }

    var description: String { "median \(quantile(0.5)) ms, p99 \(quantile(0.99)) ms" }

    private func quantile(_ share: Double) -> Double {
        guard let last = spans.indices.last else { return 0 }
        return (spans[min(last, Int(Double(spans.count) * share))] * 10).rounded() / 10
    }
}
