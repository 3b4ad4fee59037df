import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Repeated dead letters",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct RepeatedDeathTests {
    @Test("a delivery that fails again after more attempts stays one item and keeps its earlier error in the history")
    func delivery() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            let key = try DeadLetterSamples.key(user: "u1")
            let found1 = try await file.file([DeadLetterSamples.delivery(key, attempts: 2)])
            #expect(found1 == 1)
            let found2 = try await file.file([DeadLetterSamples.delivery(key, attempts: 3, reason: "payload-refused")])
            #expect(found2 == 0)
            // The filer receives both dead letters again.
            let found3 = try await file.file([
                DeadLetterSamples.delivery(key, attempts: 2), DeadLetterSamples.delivery(key, attempts: 3),
            ])
            #expect(found3 == 0)
            let items = try await servers.column(
                "SELECT concat_ws('|', deaths, attempts, reason, state) FROM dead_letters"
            )
            let history = try await servers.column("SELECT kind || ' ' || words FROM dead_letter_history")
            #expect(items == ["2|3|payload-refused|open"])
            #expect(history == ["died attempts-exhausted: fcm said UNAVAILABLE"])
        }
    }

    @Test("a replayed message that fails again reopens its item once per round, despite duplicates")
    func message() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            let found4 = try await file.file([DeadLetterSamples.rejected("a")])
            #expect(found4 == 1)
            _ = try await servers.owner.run("UPDATE dead_letters SET state = 'resolved', replays = 1")
            for id in ["a-2", "a-2", "a-3"] {
                var again = DeadLetterSamples.rejected(id, reason: "invalid-field")
                again.replay = DeadLetterItem.ReplayMark(item: "a", replay: 7, round: 1)
                let found5 = try await file.file([again])
                #expect(found5 == 0)
            }
            let items = try await servers.column(
                "SELECT concat_ws('|', dead_id, deaths, replays, reason, state) FROM dead_letters"
            )
            #expect(items == ["a|2|1|invalid-field|open"])
            let found6 = try await servers.count("SELECT count(*) FROM dead_letter_history")
            #expect(found6 == 1)
        }
    }

    @Test("a message replayed straight from the queue that fails again is stored under its first id")
    func unfiled() async throws {
        try await ServerFixture.withSchema { servers in
            var letter = DeadLetterSamples.rejected("a-2")
            letter.replay = DeadLetterItem.ReplayMark(item: "a", replay: nil, round: 1)
            let file = DeadLetterStore(pool: servers.pool)
            let found7 = try await file.file([letter])
            #expect(found7 == 1)
            let found8 = try await file.file([letter])
            #expect(found8 == 0)
            let items = try await servers.column("SELECT concat_ws('|', dead_id, deaths, replays) FROM dead_letters")
            #expect(items == ["a|2|1"])
        }
    }

    @Test("a discarded item reopens when it fails again, so that a discard hides no new failure")
    func discarded() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            let key = try DeadLetterSamples.key(user: "u1")
            _ = try await file.file([DeadLetterSamples.delivery(key, attempts: 2)])
            _ = try await servers.owner.run("UPDATE dead_letters SET state = 'discarded'")
            _ = try await file.file([DeadLetterSamples.delivery(key, attempts: 3)])
            let found9 = try await servers.column("SELECT state FROM dead_letters")
            #expect(found9 == ["open"])
        }
    }

    @Test("two dead letters about one delivery in one batch are one item")
    func inOneBatch() async throws {
        try await ServerFixture.withSchema { servers in
            let file = DeadLetterStore(pool: servers.pool)
            let key = try DeadLetterSamples.key(user: "u1")
            let letters = [DeadLetterSamples.delivery(key, attempts: 2), DeadLetterSamples.delivery(key, attempts: 3)]
            let found10 = try await file.file(letters)
            #expect(found10 == 1)
            let found11 = try await file.file(letters)
            #expect(found11 == 0)
            let found12 = try await servers.count("SELECT count(*) FROM dead_letters")
            #expect(found12 == 1)
        }
    }
}
