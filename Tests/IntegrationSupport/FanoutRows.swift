import Postgres
package import Store

extension ServerFixture {
    /// Holds the whole app of these fan-outs, as an operator does.
    package func holdVenues(because reason: String) async throws {
        _ = try await owner.run(
            "INSERT INTO holds (app, type, provider, operator, because) VALUES ('venues', '', '', 'ada', $1)",
            [.text(reason)]
        )
    }

    /// Adds pushes of a fan-out's event that wait for a hold.
    package func addHeld(of event: String, to users: [String]) async throws {
        _ = try await owner.run(
            """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
            SELECT 'venues', user_id, 'n-' || user_id, $1, '', 'opportunity', 't', 'b', 'normal'
            FROM unnest($2::text[]) AS w (user_id)
            """,
            [.text(event), .textArray(users)]
        )
        _ = try await owner.run(
            """
            INSERT INTO deliveries
                (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at)
            SELECT 'venues', user_id, 'n-' || user_id, 'push', 'sub_0000000000000001', 'deferred', 'held', 'venues/fcm',
                   now()
            FROM unnest($1::text[]) AS w (user_id)
            """,
            [.textArray(users)]
        )
    }

    /// Writes a notification of a fan-out with one delivery.
    package func addOutcome(of event: String, to user: String, state: String, reason: String?, unknownSends: Int = 0)
        async throws
    {
        _ = try await owner.run(
            """
            WITH named AS (
                SELECT 'noti_' || encode(substr(sha256(convert_to('venues', 'UTF8') || '\\x00'::bytea
                       || convert_to($1::text, 'UTF8') || '\\x00'::bytea || convert_to($2::text, 'UTF8')), 1, 8), 'hex')
                       AS id
            ), recorded AS (
                INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                SELECT 'venues', $2::text, id, $1::text, '', 'opportunity', 't', 'b', 'normal' FROM named
            )
            INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, unknown_sends)
            SELECT 'venues', $2::text, id, 'push', 'sub_0000000000000001', $3::text, $4::text, $5::bigint FROM named
            """,
            [
                .text(event), .text(user), .text(state), reason.map(Parameter.text) ?? .null,
                .integer(Int64(unknownSends)),
            ]
        )
    }

    /// Writes a fan-out as a worker leaves it in the middle: begun a minute ago, with some of its pages finished.
    ///
    /// `planned` lists the unfinished pages, by whether a worker has taken them, with `page` users each.
    package func addFanout(
        _ event: String,
        topic: String? = "venue:1",
        state: FanoutState = .running,
        users: Int = 0,
        plannedTo: String = "",
        planned: [Bool] = []
    ) async throws -> Int64 {
        _ = try await owner.run(
            """
            INSERT INTO events (app, id, content, expanded_at)
            VALUES ('venues', $1, jsonb_build_object('app', 'venues', 'id', $1::text), now())
            """,
            [.text(event)]
        )
        let number = try await owner.run(
            """
            INSERT INTO fanouts (app, event_id, type, topic, urgency, state, started_at, resumed_at, worked_at, planned,
                                 planned_to, pages, users, recorded, sent, finished_at, paused_at)
            VALUES ('venues', $1, 'opportunity', $2, 1, $3::text, now() - interval '60 s', now() - interval '60 s', now(),
                    $4, $5, 3, $6, $6, $6, CASE WHEN $3::text IN ('finished', 'cancelled') THEN now() END,
                    CASE WHEN $3::text = 'paused' THEN now() END)
            RETURNING number
            """,
            [
                .text(event), topic.map { .text($0) } ?? .null, .text(state.rawValue),
                .integer(Int64(3 + planned.count)), .text(plannedTo), .integer(Int64(users)),
            ]
        ).integer(0, 0)
        for (index, isTaken) in planned.enumerated() {
            _ = try await owner.run(
                """
                INSERT INTO fanout_pages (fanout, page, after, upto, handed_over_at, taken_at)
                VALUES ($1, $2, $3, $4, now(), CASE WHEN $5::boolean THEN now() END)
                """,
                [
                    .integer(number), .integer(Int64(3 + index)), .text(plannedTo), .text(plannedTo), .boolean(isTaken),
                ]
            )
        }
        return number
    }

    /// Writes `count` followers of a topic, from `u00001` on; for everyone, it writes recipients.
    package func addFollowers(_ count: Int, topic: String? = "venue:1") async throws {
        let users: [Parameter] = [.integer(Int64(count))]
        guard let topic else {
            _ = try await owner.run(
                """
                INSERT INTO recipients (app, user_id, source_time)
                SELECT 'venues', 'u' || lpad(n::text, 5, '0'), now() FROM generate_series(1, $1::bigint) AS n
                """,
                users
            )
            return
        }
        _ = try await owner.run(
            """
            INSERT INTO follows (app, topic, user_id, since, source_time)
            SELECT 'venues', $2, 'u' || lpad(n::text, 5, '0'), now(), now() FROM generate_series(1, $1::bigint) AS n
            """,
            users + [.text(topic)]
        )
    }
}
