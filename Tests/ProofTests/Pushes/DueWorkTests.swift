import Postgres
import TestSupport
import Testing

/// Deliveries deferred for quiet hours or a digest become due at the same time, while their schedulers and workers are
/// killed.
@Suite("Due work", .limitedProofConcurrency, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct DueWorkTests {
    private static let size = Proof.isFull ? 10_000 : 1_000
    private static let kills = Proof.isFull ? 12 : 3

    @Test("each due push goes out once and no digest twice, while schedulers and workers are killed")
    func prove() async throws {
        try await Stage.with { stage in
            try await PushFixture.with(stage) { fixture in
                let settings = ["BELLHOP_CATALOGS": Program.catalogs.path]
                var workers = [try await fixture.worker(settings), try await fixture.worker(settings)]
                try await fixture.registerDevices()
                try await setQuiet(true, stage)
                let traffic = Traffic(exchange: stage.names.events)
                let sent = try await Producer.with(try stage.broker) { producer in
                    try await producer.send((0..<Self.size).map { traffic.good($0) })
                }
                try await eventually("everything is recorded, and waits or was urgent", atMost: .proof) {
                    let rows = try await stage.count("notifications")
                    let open = try await stage.count("deliveries WHERE state IN ('pending', 'sending', 'retrying')")
                    return rows >= sent.records.count && open == 0
                }
                let waiting = try await stage.count("deliveries WHERE state = 'deferred'")
                try await setQuiet(false, stage)
                try await strike(stage)
                var schedulers = [try await stage.scheduler(settings), try await stage.scheduler(settings)]
                for kill in 1...Self.kills {
                    let left = waiting - waiting * kill / (Self.kills + 1)
                    try await eventually("\(waiting - left) are seen to", atMost: .proof) {
                        try await stage.endLeasesOfTheDead()
                        return try await stage.count("deliveries WHERE state = 'deferred'") <= left
                    }
                    try await schedulers[kill % 2].killAtOnce()
                    try await workers[kill % 2].killAtOnce()
                    schedulers[kill % 2] = try await stage.scheduler(settings)
                    workers[kill % 2] = try await fixture.worker(settings)
                }
                try await eventually("nothing waits", atMost: .proof) {
                    try await stage.count("deliveries WHERE state = 'deferred'") == 0
                }
                // Deliveries that a killed scheduler took and did not publish are due again after ten minutes, which
                // pass here. By then every published delivery has long been claimed: of one that is released twice, two
                // workers may each claim a part.
                try await standStill(stage)
                try await stage.owner.pass(minutes: 10)
                _ = try await fixture.settle(sent, workers: workers)
                let due = try await DueBalance(fixture, expected: sent.records)
                Proof.report("due work, killed \(Self.kills) times two: \(due)")
                #expect(due.isEven, "\(due)")
                #expect(due.digests == Traffic.users.count)
                for role in schedulers + workers { try await role.drain() }
            }
        }
    }

    private func setQuiet(_ isQuiet: Bool, _ stage: Stage) async throws {
        _ = try await stage.owner.run(
            Statement(
                """
                UPDATE notification_preferences SET preferences = jsonb_set(
                    preferences, '{quietHours}', jsonb_build_object('enabled', $1::boolean,
                        'startHour', extract(hour FROM now() AT TIME ZONE 'Europe/Oslo'),
                        'endHour', (extract(hour FROM now() AT TIME ZONE 'Europe/Oslo')::integer + 12) % 24))
                """
            ),
            [.boolean(isQuiet)]
        )
    }

    /// Returns when no worker claims released deliveries any longer: the rest will never be claimed.
    private func standStill(_ stage: Stage) async throws {
        _ = try await settled("the number of pending deliveries", atMost: .proof) {
            try await stage.count("deliveries WHERE state = 'pending'")
        }
    }

    /// Makes all waiting deliveries due, those of one digest at the same time.
    private func strike(_ stage: Stage) async throws {
        _ = try await stage.owner.run(
            Statement(
                """
                UPDATE ledger SET due_at = now(), decision = CASE WHEN decision ? 'digest' THEN
                    decision || '{"digest": "2026-01-01T07:00:00.000Z"}' ELSE decision END
                WHERE state = 'w'
                """
            ),
            []
        )
    }
}

extension PostgresPool {
    /// Lets time pass for released deliveries.
    ///
    /// No worker claims meanwhile: a claim skips locked rows and would split a digest.
    fileprivate func pass(minutes: Int) async throws {
        try await transaction { (connection) throws(PostgresError) in
            _ = try connection.run("LOCK TABLE ledger IN SHARE ROW EXCLUSIVE MODE")
            _ = try connection.run(
                "UPDATE ledger SET due_at = due_at - $1::bigint * interval '1 min' WHERE state = 'p'",
                [.integer(Int64(minutes))]
            )
        }
    }
}

/// The deliveries that were sent after their wait, with single pushes and digests separate.
private struct DueBalance: CustomStringConvertible {
    private let singles: PushBalance
    /// The number of users with a digest.
    let digests: Int
    private let gathered: Int
    private let doubledDigests: [String]
    private let unfinished: Int

    init(_ fixture: PushFixture, expected: Set<String>) async throws {
        let rows = try await fixture.stage.owner.run(
            Statement(
                """
                SELECT n.event_id || '|' || n.user_id, n.user_id, n.id, d.state, d.attempts::bigint,
                       d.unknown_sends::bigint, d.decision ? 'digest'
                FROM deliveries d
                JOIN notifications n ON n.app = d.app AND n.user_id = d.user_id AND n.id = d.notification_id
                """
            ),
            []
        )
        var lines: [PushBalance.Line] = []
        var unknown: [String: Int] = [:]
        var (gathered, unfinished) = (0, 0)
        for row in rows.indices {
            let line = PushBalance.Line(
                record: try rows.text(row, 0),
                push: .init(token: PushFixture.token(of: try rows.text(row, 1)), tag: try rows.text(row, 2)),
                state: try rows.text(row, 3),
                attempts: Int(try rows.integer(row, 4)),
                unknownSends: Int(try rows.integer(row, 5))
            )
            guard try rows.optionalBoolean(row, 6) ?? false else {
                lines.append(line)
                continue
            }
            gathered += 1
            unfinished += line.state == "delivered" ? 0 : 1
            unknown[line.push.token] = max(unknown[line.push.token] ?? 0, line.unknownSends)
        }
        let received = fixture.sandbox.received(.fcm)
        let digests = received.filter { $0.tag?.hasPrefix("digest:") ?? false }
        let counts = Dictionary(grouping: digests) { PushBalance.Push(token: $0.token ?? "-", tag: $0.tag ?? "-") }
        doubledDigests = counts.filter { $1.count > 1 + (unknown[$0.token] ?? 0) }.map { "\($0): \($1.count)" }
        self.digests = Set(counts.keys.map(\.token)).count == counts.count ? counts.count : -1
        self.gathered = gathered
        self.unfinished = unfinished
        singles = PushBalance(
            expected: Set(lines.map(\.record)),
            lines: lines,
            received: received.filter { !($0.tag?.hasPrefix("digest:") ?? false) },
            counted: 0
        )
        missing = expected.count - rows.count
    }

    private let missing: Int

    var isEven: Bool { singles.isEven && doubledDigests.isEmpty && unfinished == 0 && missing == 0 && gathered > 0 }

    var description: String {
        "digests \(digests) of \(gathered) notifications, doubled \(doubledDigests.count), unfinished \(unfinished), "
            + "missing \(missing); single \(singles)"
    }
}
