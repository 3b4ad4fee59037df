import AMQP
import IntegrationSupport
import Postgres
import Sandbox
import TestSupport

/// Followers of one venue with one device each, and an FCM emulator that records the tokens of its requests.
///
/// The emulator does not parse the requests and keeps only the tokens: a million requests would take too much memory.
struct FanoutFixture: Sendable {
    let stage: Stage
    let sandbox: ProviderSandbox
    let followers: Int
    /// The worker's settings for this emulator.
    let settings: [String: String]

    static let topic = "venue:42"

    /// Runs a body with a new emulator and with all followers in the tables.
    static func with(
        _ stage: Stage,
        followers: Int,
        lease: String,
        _ body: (FanoutFixture) async throws -> Void
    ) async throws {
        var options = SandboxOptions()
        options.checking = .none
        options.notedWord = #""token":""#
        let sandbox = try await ProviderSandbox.start(options)
        let result: Result<Void, any Error>
        do {
            let file = try ProvidersFile(in: stage.folder, ["venues": sandbox])
            let fixture = FanoutFixture(
                stage: stage,
                sandbox: sandbox,
                followers: followers,
                settings: ["BELLHOP_PROVIDERS": file.path, "BELLHOP_LEASE": lease, "BELLHOP_RETRY_LIMIT": "20"]
            )
            try await fixture.follow()
            result = .success(try await body(fixture))
        } catch {
            result = .failure(error)
        }
        await sandbox.stop(grace: .zero)
        try result.get()
    }

    private func follow() async throws {
        for start in stride(from: 1, through: followers, by: 20_000) {
            let range: [Parameter] = [.integer(Int64(start)), .integer(Int64(min(start + 19_999, followers)))]
            _ = try await stage.owner.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, permission,
                                                registered_at, last_seen_at, source_time, reached_at)
                SELECT 'venues', 'fan' || n, 'sub_' || lpad(to_hex(n), 16, '0'), 'android', 'fcm', 'token-fan' || n,
                       'granted', now(), now(), now(), now()
                FROM generate_series($1::bigint, $2::bigint) AS n
                """,
                range
            )
            _ = try await stage.owner.run(
                """
                INSERT INTO follows (app, topic, user_id, since, source_time)
                SELECT 'venues', 'venue:42', 'fan' || n, now(), now() FROM generate_series($1::bigint, $2::bigint) AS n
                """,
                range
            )
        }
    }

    func worker() async throws -> Role { try await stage.worker(settings) }

    /// Publishes the one event, again until it is confirmed.
    func publish() async throws {
        let body = """
            {"id":"offer","to":{"topic":"\(Self.topic)"},"venueId":"42",\
            "data":{"venue":"Tim Wendelboe","offer":"Two cups for one"}}
            """
        let message = OutgoingMessage(
            exchange: stage.names.events,
            routingKey: "venues.opportunity",
            properties: MessageProperties(contentType: "application/json"),
            body: Array(body.utf8)
        )
        _ = try await Producer.with(try stage.broker) { producer in
            try await producer.send([ProofMessage(message: message, fate: .kept(event: "offer"))])
        }
    }

    /// Waits until `count` followers have a record.
    func awaitRecords(_ count: Int) async throws {
        try await eventually("\(count) records", atMost: .proof) {
            try await stage.count("inbox") >= count
        }
    }

    /// Waits until the last page is finished and nothing is owed.
    func awaitEnd() async throws {
        // A loss lets this time out, and the comparison then describes the loss better.
        try? await eventually("nothing is owed", atMost: .proof) {
            try await stage.endLeasesOfTheDead()
            let finished = try await stage.count("fanouts WHERE state = 'finished'")
            guard finished == 1 else { return false }
            return try await stage.count("deliveries WHERE state IN (\(PushBalance.owed))") == 0
        }
    }

    func balance() async throws -> FanoutBalance {
        let rows = try await stage.owner.run(
            """
            SELECT n.user_id, concat_ws(' ', d.state, d.reason), coalesce(d.unknown_sends, 0)::bigint
            FROM notifications n
            LEFT JOIN deliveries d ON d.app = n.app AND d.user_id = n.user_id AND d.notification_id = n.id
            WHERE n.event_id = 'offer'
            """
        )
        let lines = try rows.indices.map { row in
            FanoutBalance.Line(
                user: try rows.text(row, 0),
                state: try rows.text(row, 1),
                unknownSends: Int(try rows.integer(row, 2))
            )
        }
        let users = (1...followers).map { "fan\($0)" }
        return FanoutBalance(
            users: Set(users),
            lines: lines,
            arrived: sandbox.noted.map(\.mark),
            letters: try await stage.count("dead_letters")
        )
    }
}
