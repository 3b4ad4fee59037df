import Postgres
import Store
import TestSupport
import Testing

/// An upgrade as in `docs/operations.md`: the schema first, under running processes, then each process in turn.
@Suite("Upgrades", .limitedProofConcurrency, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct UpgradeTests {
    @Test("an upgrade under load, with old processes restarted on the new schema, loses and repeats nothing")
    func rolling() async throws {
        var chance = Proof.chance("upgrade")
        try await Stage.with { stage in
            try await PushFixture.with(stage) { fixture in
                var scheduler = try await stage.scheduler()
                var workers = [try await fixture.worker(), try await fixture.worker()]
                try await fixture.registerDevices()
                let traffic = Traffic(exchange: stage.names.events)
                let pieces = (0..<Self.size).map { traffic.good($0) } + (0..<Self.size / 50).map { traffic.bad($0) }
                let shuffled = pieces.shuffled(using: &chance)
                async let sending = Producer.with(try stage.broker) { try await $0.send(shuffled) }
                for round in 1...NextSchema.steps.count {
                    let due = Self.size * round / (NextSchema.steps.count + 2)
                    try await eventually("\(due) rows", atMost: .proof) {
                        try await stage.count("notifications") >= due
                    }
                    let outcome = try await NextSchema.migrator(stage, steps: round).migrate()
                    #expect(outcome == .applied([NextSchema.steps[round - 1].name]))
                    // The drained worker starts again on a schema that its program does not know, alongside a worker
                    // from before the change.
                    let leaver = round % workers.count
                    try await workers[leaver].drain()
                    workers[leaver] = try await fixture.worker()
                }
                try await scheduler.drain()
                scheduler = try await stage.scheduler()
                let sent = try await sending
                let counted = try await fixture.settle(sent, workers: workers)
                let balance = try await stage.balance(sent, workers: workers, scheduler: scheduler)
                let pushes = try await fixture.balance(sent, counted: counted)
                expectEven(balance, "an upgrade under load")
                expectEven(pushes, "an upgrade under load")
                #expect(pushes.repeats == 0 && pushes.unknown == 0, "\(pushes)")
            }
        }
    }

    @Test("a schema that admits only its own programs waits for the others to end, and then rejects them")
    func contracting() async throws {
        try await Stage.with { stage in
            let worker = try await stage.worker()
            try await eventually("the worker has said that it runs") { try await stage.count("processes") == 1 }
            let migrator = NextSchema.migrator(stage, steps: NextSchema.steps.count, last: NextSchema.shrinking)
            let postponed = try await migrator.migrate()
            guard case .postponed(let why) = postponed else {
                Issue.record("expected it to be postponed: \(postponed)")
                return
            }
            #expect(why.contains("a worker of"), "\(why)")
            let names = try await stage.column("SELECT name FROM schema_migrations ORDER BY name")
            let own = Migration.all.map(\.name)
            #expect(names == own, "nothing of it is applied")
            try await worker.drain()
            let outcome = try await migrator.migrate()
            let next = NextSchema.steps.map(\.name) + [NextSchema.shrinking.name]
            #expect(outcome == .applied(next))
            let late = try stage.start(Program.bellhop, ["worker"], stage.environment())
            let ending = try await late.ending()
            #expect(ending == .exited(78))
            #expect(late.log.contains("admits programs for schema 9999 and newer, and this one is for"), "\(late.log)")
            let migrate = try stage.start(Program.bellhop, ["migrate"], stage.environment())
            let refused = try await migrate.ending()
            #expect(refused == .exited(78))
        }
    }

    private static let size = 1_200
}

/// Changes that a later release may make to the schema while this one runs.
private enum NextSchema {
    static let steps = [
        step(
            "9901_columns",
            """
            ALTER TABLE inbox ADD hue text NOT NULL DEFAULT 'none';
            ALTER TABLE ledger ADD hue text NOT NULL DEFAULT 'none';
            ALTER TABLE people ADD hue integer;
            ALTER TABLE recipients ADD hue text;
            ALTER TABLE push_subscriptions ADD hue text;
            ALTER TABLE events ADD hue text;
            ALTER TABLE dead_letters ADD hue text NOT NULL DEFAULT 'none';
            ALTER TABLE breakers ADD hue text;
            ALTER TABLE processes ADD hue text;
            CREATE TABLE hues (hue text PRIMARY KEY);
            """
        ),
        step(
            "9902_index",
            """
            DROP INDEX CONCURRENTLY IF EXISTS ledger_hue;
            CREATE INDEX CONCURRENTLY ledger_hue ON ledger (hue, updated_at);
            DROP INDEX CONCURRENTLY IF EXISTS inbox_hue;
            CREATE INDEX CONCURRENTLY inbox_hue ON inbox (type, created_at);
            """,
            notes: "-- without a transaction\n"
        ),
        // A value that only later programs write, and a delivery that one of them has written.
        step(
            "9903_value",
            """
            ALTER TABLE ledger DROP CONSTRAINT ledger_state_check;
            ALTER TABLE ledger ADD CONSTRAINT ledger_state_check
                CHECK (state IN ('p', 's', 'r', 'w', 'a', 'd', 'x', 'e', 'f', 'u', 'z')) NOT VALID;
            INSERT INTO ledger (person, id, target, state, due_at) VALUES (-7, 7, 7, 'z', now());
            """
        ),
    ]

    /// Does not state what it admits, and therefore admits only its own schema.
    static let shrinking = Migration("9999_less", Array("ALTER TABLE inbox DROP hue;\n".utf8))

    private static func step(_ name: String, _ sql: String, notes: String = "") -> Migration {
        Migration(name, Array("-- admits \(Migration.all.schemaNumber)\n\(notes)\(sql)\n".utf8))
    }

    static func migrator(_ stage: Stage, steps count: Int, last: Migration? = nil) -> Migrator {
        let next = Array(steps.prefix(count)) + (last.map { [$0] } ?? [])
        return Migrator(pool: stage.owner, namespace: stage.namespace, migrations: Migration.all + next)
    }
}
