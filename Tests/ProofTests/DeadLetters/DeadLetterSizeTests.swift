import Foundation
import Postgres
import TestSupport
import Testing

extension Proofs {
    @Suite("Size of the dead-letter commands")
    struct DeadLetterSizeTests {
        private static let items = Proof.isFull ? 100_000 : 4_000

        @Test("groups, a filtered list and a replay of all items give every item an outcome, and the times are printed")
        func large() async throws {
            try await Stage.with { stage in
                try await fill(stage)
                let groups = try await timed("groups") { try await stage.bellhop("dead-letters", "groups", "--json") }
                #expect(groups.contains(#""items":\#(Self.items),"#))
                let list = try await timed("list, filtered") {
                    try await stage.bellhop(
                        "dead-letters",
                        "list",
                        "--reason",
                        "unknown-type",
                        "--app",
                        "drop",
                        "--json"
                    )
                }
                #expect(list.contains(#""count":\#(Self.items / 2),"#))
                _ = try await timed("list of one user") {
                    try await stage.bellhop("dead-letters", "list", "--app", "drop", "--user", "u7", "--json")
                }
                let worker = try await stage.worker()
                let scheduler = try await stage.scheduler()
                _ = try await timed("start of a replay of all") {
                    try await stage.bellhop(
                        "dead-letters",
                        "replay",
                        "--all",
                        "--yes",
                        "--because",
                        "proof",
                        "--detach",
                        "--json"
                    )
                }
                let began = ContinuousClock.now
                try await eventually("the replay has ended", atMost: .proof) {
                    try await stage.count("replays WHERE finished_at IS NOT NULL") == 1
                }
                let span = ContinuousClock.now - began
                Proof.report(
                    "replay of \(Self.items) items in \(span.inSeconds); scheduler at most \(try scheduler.child.peakMemory), "
                        + "worker \(try worker.child.peakMemory)"
                )
                let outcomes = try await stage.column(
                    "SELECT outcome || ' ' || count(*) FROM replay_items GROUP BY outcome ORDER BY outcome"
                )
                #expect(outcomes == ["recorded \(Self.items / 2)", "suppressed \(Self.items / 2)"])
                #expect(try await stage.count("dead_letters WHERE state = 'resolved'") == Self.items)
                try await worker.drain()
                try await scheduler.drain()
            }
        }

        private func timed(_ what: String, _ body: () async throws -> String) async throws -> String {
            let began = ContinuousClock.now
            let answer = try await body()
            Proof.report(
                "\(what) of \(Self.items) items: \((ContinuousClock.now - began).inSeconds), the program's start included"
            )
            return answer
        }

        /// Stores dead letters: half are messages in fifty groups, half are failed deliveries to devices that no longer
        /// exist.
        private func fill(_ stage: Stage) async throws {
            let half = Self.items / 2
            _ = try await stage.owner.run(Statement(Self.messages(half, exchange: stage.names.events)))
            for statement in Self.deliveries(half) { _ = try await stage.owner.run(Statement(statement)) }
            _ = try await stage.owner.run("ANALYZE dead_letters")
        }

        private static func messages(_ count: Int, exchange: String) -> String {
            """
            INSERT INTO dead_letters (dead_id, fingerprint, stage, reason, error, app, event_type, event_id, attempts,
                first_failed_at, last_failed_at, origin_exchange, origin_routing_key, properties, headers, body, content_hash)
            SELECT 'message-' || n, 'm' || n % 50, 'intake', 'unknown-type', 'error ' || n % 50, 'drop', 'system', 'e' || n, 1,
                now() - n * interval '1 s', now() - n * interval '1 s', '\(exchange)', 'drop.system',
                '{"contentType": "application/json"}', '{}',
                convert_to(format('{"id":"e%s","to":{"user":"u%s"},"title":"t","body":"b"}', n, n % 5000), 'UTF8'),
                decode(md5(n::text), 'hex')
            FROM generate_series(1, \(count)) AS n
            """
        }

        private static func deliveries(_ count: Int) -> [String] {
            let id = "'noti_' || lpad(to_hex(n), 16, '0')"
            return [
                """
                INSERT INTO people (app, user_id) SELECT 'drop', 'u' || n FROM generate_series(0, 4999) AS n
                """,
                """
                INSERT INTO inbox (person, id, event_id, content_hash, type, title, body, urgency)
                SELECT p.number, n, 'd' || n, '\\x00', 'transaction_complete', 't', 'b', 1
                FROM generate_series(1, \(count)) AS n JOIN people p ON p.user_id = 'u' || n % 5000
                """,
                """
                INSERT INTO ledger (person, id, target, state, reason, attempts)
                SELECT p.number, n, n, 'f', 'attempts-exhausted', 8
                FROM generate_series(1, \(count)) AS n JOIN people p ON p.user_id = 'u' || n % 5000
                """,
                """
                INSERT INTO dead_letters (dead_id, fingerprint, stage, reason, error, provider, app, event_type, event_id,
                    user_id, attempts, first_failed_at, last_failed_at, origin_exchange, origin_routing_key, properties,
                    headers, body, content_hash, notification_id, channel, target)
                SELECT 'delivery-' || n, 'd', 'dispatch', 'attempts-exhausted', 'fcm said UNAVAILABLE', 'fcm', 'drop',
                    'transaction_complete', 'd' || n, 'u' || n % 5000, 8, now() - n * interval '1 s',
                    now() - n * interval '1 s', '', 'delivery', '{}', '{}', '', decode(md5(n::text), 'hex'),
                    \(id), 'push', target_name(n)
                FROM generate_series(1, \(count)) AS n
                """,
            ]
        }
    }
}

extension ProgramRun {
    /// The peak memory of the program, as reported by the kernel.
    var peakMemory: String {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            return line.map { $0.dropFirst(6).trimmingCharacters(in: .whitespaces) } ?? "-"
        }
    }
}
