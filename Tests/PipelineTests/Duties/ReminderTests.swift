import BellhopRules
import IntegrationSupport
import ServiceRuntime
import TestSupport
import Testing

@Suite(
    "Reminders",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct ReminderTests {
    /// Returns a time of day in UTC, `minutes` from now.
    private func time(minutes: Int64) -> String {
        let minute = (SystemTime().now().microseconds / 60_000_000 + minutes + 1440) % 1440
        return LocalTime(hour: Int(minute / 60), minute: Int(minute % 60))?.description ?? ""
    }

    private func set(_ pipeline: PipelineFixture, _ id: String, at time: String) async throws {
        try await pipeline.publish([
            pipeline.event(
                #"{"userId":"u1","id":"\#(id)","localTime":"\#(time)","timezone":"UTC","title":"Hei","body":""}"#,
                key: "drop.reminder.set"
            )
        ])
        try await pipeline.wait(
            for: 1,
            "SELECT count(*) FROM reminders WHERE id = '\(id)' AND next_fire_at IS NOT NULL"
        )
    }

    /// Changes a reminder so that it was set two days ago and no duty has evaluated it since.
    private func age(_ servers: ServerFixture, _ id: String) async throws {
        _ = try await servers.owner.run(
            """
            UPDATE reminders SET planned_from = now() - interval '2 days', next_fire_at = NULL,
                event_type = 'transaction_complete' WHERE id = $1
            """,
            [.text(id)]
        )
    }

    @Test("a reminder for a time that has passed today fires tomorrow")
    func tomorrow() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await set(pipeline, "past", at: time(minutes: -10))
                let planned = try await servers.count(
                    """
                    SELECT count(*) FROM reminders WHERE last_fired_on IS NULL
                    AND next_fire_at BETWEEN now() + interval '23 hours' AND now() + interval '24 hours'
                    """
                )
                #expect(planned == 1)
            }
        }
    }

    @Test("a missed reminder fires once if it is less than an hour late, and otherwise on its next date")
    func missed() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await set(pipeline, "late", at: time(minutes: -20))
                try await set(pipeline, "too-late", at: time(minutes: -90))
                try await age(servers, "late")
                try await age(servers, "too-late")
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
                try await pipeline.wait(for: 2, "SELECT count(*) FROM reminders WHERE next_fire_at > now()")
                // After a restart the reminder is evaluated again, but it has already fired for this date.
                try await age(servers, "late")
                try await pipeline.wait(for: 2, "SELECT count(*) FROM reminders WHERE next_fire_at > now()")
                let rung = try await servers.column("SELECT id FROM reminders WHERE last_fired_on IS NOT NULL")
                #expect(rung == ["late"])
                let targets = try await servers.column("SELECT target_id FROM notifications")
                #expect(targets == ["late"])
                // Its text and its route are the user's: no catalogue makes a mail of it.
                let extras = try await servers.column("SELECT extras ->> 'noEmail' FROM notifications")
                #expect(extras == ["true"])
            }
        }
    }

    @Test("a reminder for one date fires once and is then gone, and a missed one is gone without firing")
    func singleDate() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                let now = SystemTime().now().microseconds / 1_000_000
                for (id, seconds) in [("today", now - 600), ("missed", now - 7_200), ("later", now + 86_400)] {
                    let time = Timestamp(clamping: seconds * 1_000_000).description
                    _ = try await servers.owner.run(
                        """
                        INSERT INTO reminders
                            (app, user_id, id, local_time, days, timezone, title, body, event_type, planned_from, source_time)
                        VALUES ('drop', 'u1', $1, $2, $3, 'UTC', 'Hei', '', 'transaction_complete',
                                now() - interval '1 day', now())
                        """,
                        [.text(id), .text(String(time.dropFirst(11).prefix(5))), .text(String(time.prefix(10)))]
                    )
                }
                try await pipeline.wait(for: 2, "SELECT count(*) FROM reminders WHERE removed_at IS NOT NULL")
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications WHERE target_id = 'today'")
                let left = "FROM reminders WHERE id = 'later' AND removed_at IS NULL AND next_fire_at > now()"
                try await pipeline.wait(for: 1, "SELECT count(*) \(left)")
                let fired = try await servers.column("SELECT id FROM reminders WHERE last_fired_on IS NOT NULL")
                #expect(fired == ["today"])
                #expect(try await servers.count("SELECT count(*) FROM notifications") == 1)
            }
        }
    }

    @Test("a reminder of an app without a catalogue here is evaluated again within the hour, and fires when it has one")
    func unexplained() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await set(pipeline, "due", at: time(minutes: -20))
                try await age(servers, "due")
                _ = try await servers.owner.run("UPDATE reminders SET app = 'nosuch', next_fire_at = NULL", [])
                try await pipeline.wait(
                    for: 1,
                    """
                    SELECT count(*) FROM reminders WHERE app = 'nosuch' AND last_fired_on IS NULL
                    AND next_fire_at BETWEEN now() + interval '20 minutes' AND now() + interval '30 minutes'
                    """
                )
                // The catalogue of its app is available now.
                _ = try await servers.owner.run("UPDATE reminders SET app = 'drop', next_fire_at = now()", [])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications WHERE target_id = 'due'")
            }
        }
    }

    @Test("a reminder of a type that the catalogue lacks is dropped and counted, and makes no dead letter")
    func unknownType() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await set(pipeline, "typeless", at: time(minutes: -20))
                try await set(pipeline, "unheard", at: time(minutes: -20))
                try await set(pipeline, "known", at: time(minutes: -20))
                for (id, type) in [("typeless", nil), ("unheard", "unheard_of"), ("known", "transaction_complete")] {
                    _ = try await servers.owner.run(
                        """
                        UPDATE reminders SET planned_from = now() - interval '2 days', next_fire_at = NULL,
                            event_type = $2 WHERE id = $1
                        """,
                        [.text(id), type.map { .text($0) } ?? .null]
                    )
                }
                try await pipeline.wait(for: 3, "SELECT count(*) FROM reminders WHERE last_fired_on IS NOT NULL")
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications WHERE target_id = 'known'")
                let rung = try await servers.count("SELECT count(*) FROM notifications")
                let letters = try await servers.count("SELECT count(*) FROM dead_letters")
                #expect(rung == 1 && letters == 0)
                let text = pipeline.metrics.text()
                #expect(text.contains(#"bellhop_reminders_dropped_total{app="drop"} 2"#))
            }
        }
    }

    @Test("a reminder with the longest id fires, too")
    func longName() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                let id = String(repeating: "r", count: 255)
                try await set(pipeline, id, at: time(minutes: -20))
                try await age(servers, id)
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications WHERE target_id = '\(id)'")
            }
        }
    }

    @Test("a change of the user's time zone plans the reminders again that use it")
    func zoneChange() async throws {
        try await ServerFixture.withTopology { servers in
            try await PipelineFixture.on(servers) { pipeline in
                try await pipeline.publish([
                    pipeline.event(
                        #"{"userId":"u1","id":"r","localTime":"\#(time(minutes: 120))","title":"Hei","body":""}"#,
                        key: "drop.reminder.set"
                    )
                ])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM reminders WHERE next_fire_at IS NOT NULL")
                func planned() async throws -> Int {
                    try await servers.count("SELECT extract(epoch FROM next_fire_at)::bigint FROM reminders")
                }
                let before = try await planned()
                try await pipeline.publish([
                    pipeline.event(#"{"userId":"u1","timezone":"Asia/Kathmandu"}"#, key: "drop.recipient.upserted")
                ])
                try await pipeline.wait(for: 1, "SELECT count(*) FROM recipients WHERE timezone IS NOT NULL")
                try await pipeline.wait(
                    for: 1,
                    """
                    SELECT count(*) FROM reminders
                    WHERE next_fire_at IS NOT NULL AND extract(epoch FROM next_fire_at)::bigint <> \(before)
                    """
                )
                // Kathmandu's offset includes a quarter of an hour; that of the other zone here does not.
                #expect((before - (try await planned())) % 1800 != 0)
            }
        }
    }
}
