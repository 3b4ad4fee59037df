import Postgres

extension ServerFixture {
    /// Adds a user of drop with one device, and a push to it that failed once and waits for another attempt: in a retry
    /// tier, or deferred.
    package func addRetry(
        _ user: String,
        through provider: String,
        dueIn seconds: Int,
        reason: String = "UNAVAILABLE",
        state: String = "retrying"
    ) async throws {
        let (name, service) = (Parameter.text(user), Parameter.text(provider))
        _ = try await owner.run(
            """
            INSERT INTO push_subscriptions
                (app, profile_id, id, platform, provider, device_token, registered_at, last_seen_at, source_time)
            VALUES ('drop', $1, 'sub_0000000000000001', 'ios', $2, 'token-' || $1, now(), now(), now())
            ON CONFLICT DO NOTHING
            """,
            [name, service]
        )
        _ = try await owner.run(
            """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
            VALUES ('drop', $1, 'n-' || $1, 'e-' || $1, '', 'system', 't', 'b', 'normal')
            """,
            [name]
        )
        _ = try await owner.run(
            """
            INSERT INTO deliveries
                (app, user_id, notification_id, channel, target, state, reason, attempts, due_at)
            VALUES ('drop', $1, 'n-' || $1, 'push', 'sub_0000000000000001', $3, $4, 1,
                    now() + $2::bigint * interval '1 s')
            """,
            [name, .integer(Int64(seconds)), .text(state), .text(reason)]
        )
    }

    /// The states of all deliveries, each with its user, whether it is due within the next 20 seconds, and its attempts.
    package func retryStates() async throws -> [String?] {
        try await column(
            """
            SELECT concat_ws(' ', user_id, state, CASE WHEN due_at < now() + interval '20 s' THEN 'soon' ELSE 'later' END,
                             attempts)
            FROM deliveries ORDER BY user_id
            """
        )
    }
}
