import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Inbox",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct InboxTests {
    @Test("only the records of a batch that already exist are read a second time")
    func closerLook() async throws {
        try await ServerFixture.withSchema { servers in
            let pool = try StatementCoverage.pool(on: servers)
            let inbox = WorkerStore(pool: pool)
            let users = (1...200).map { "u\($0)" }
            _ = try await inbox.record(try servers.records(id: "e1", users: ["u7"], title: "Hei"))
            let before = try await OtherUsers.scans(of: "inbox_pkey", in: servers, by: pool)
            let outcomes = try await inbox.record(try servers.records(id: "e1", users: users, title: "Hei"))
            let after = try await OtherUsers.scans(of: "inbox_pkey", in: servers, by: pool)
            await pool.close()
            #expect(outcomes.enumerated().allSatisfy { ($1 == .duplicate) == ($0 == 6) })
            // One search per insert, and one for the second read.
            #expect(after - before < 250)
        }
    }

    @Test("each record has its own texts, whether a batch has a few shared ones or more", arguments: [2, 30])
    func words(_ events: Int) async throws {
        try await ServerFixture.withSchema { servers in
            let users = (1...20).map { "u\($0)" }
            let records = try (1...events).flatMap { event in
                try servers.records(id: "e\(event)", users: users, title: "Title \(event)")
            }
            let outcomes = try await WorkerStore(pool: servers.pool).record(records.shuffled())
            #expect(outcomes.allSatisfy { $0 == .recorded })
            let own = try await servers.count(
                "SELECT count(*) FROM notifications WHERE title = 'Title ' || substr(event_id, 2)"
            )
            #expect(own == events * users.count)
        }
    }

    @Test("a record that another session writes concurrently is waited for and kept")
    func race() async throws {
        try await ServerFixture.withSchema { servers in
            let inbox = WorkerStore(pool: servers.pool)
            _ = try await inbox.record(try servers.records(id: "e1", users: ["u1", "u2"], title: "Hei"))
            let records = try servers.records(id: "e2", users: ["u1", "u2"], title: "Hei")
            let id = Int64(bitPattern: records[0].id.bits)
            let waiting = try await RowLock.hold(
                on: servers,
                """
                INSERT INTO inbox (person, id, event_id, content_hash, type, title, body, urgency)
                SELECT number, \(id), 'e2', '', 'system', 'Other', '', 1 FROM people WHERE user_id = 'u1'
                """
            ) {
                let recording = Task { try await inbox.record(records) }
                try await eventually("it waits for the other") {
                    try await servers.count(
                        """
                        SELECT count(*) FROM pg_locks waits JOIN pg_locks has ON has.pid = waits.pid
                        WHERE NOT waits.granted AND waits.locktype = 'transactionid' AND has.relation = $1::regclass
                        """,
                        [.text("\(servers.namespace).inbox")]
                    ) > 0
                }
                return recording
            }
            let outcomes = try await waiting.value
            #expect(outcomes == [.conflict, .recorded])
            #expect(try await servers.count("SELECT count(*) FROM notifications WHERE title = 'Other'") == 1)
        }
    }

    @Test("the id is the first eight bytes of SHA-256 over app, event and user")
    func identity() throws {
        let app = try #require(AppID(validating: "drop"))
        let event = try #require(EventID(validating: "evt_1"))
        let user = try #require(UserID(validating: "u1"))
        #expect(NotificationID(app: app, event: event, user: user).text == "noti_\(Self.expectedDigits)")
    }

    /// The output of `python3 -c "import hashlib;print(hashlib.sha256(b'drop\0evt_1\0u1').hexdigest()[:16])"`.
    private static let expectedDigits = "9b0dca399d7868a6"
}

extension WorkerStore {
    /// Records under a new claim.
    func record(_ records: [InboxRecord]) async throws -> [RecordOutcome] {
        var chance = SystemRandomNumberGenerator()
        return try await record(records, as: Claim(using: &chance))
    }
}

extension ServerFixture {
    /// Returns the records of one event of the type `system`.
    func records(id: String, users: [String], title: String, sentAt: String? = nil) throws -> [InboxRecord] {
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        let time = sentAt.map { #","sentAtIso":"\#($0)""# } ?? ""
        let json = """
            {"id":"\(id)","app":"drop","eventType":"system","to":{"users":[\(names)]},"title":"\(title)","body":""\(time)}
            """
        guard case .event(let event) = try submission(json), case .users(let users) = event.audience,
            let catalog = catalogs[event.app], let type = catalog[event.type]
        else { throw ServerFixtureError("the message is not an event") }
        let words = NotificationText(
            event: event,
            contentHash: ContentHash(of: event),
            rendered: try catalog.render(event, language: nil).get(),
            type: type,
            in: catalog,
            expiresAt: event.expiresAt
        )
        return users.map { InboxRecord(words, for: $0) }
    }

    /// Applies feed messages in one batch.
    func feed(_ messages: [String], arrival: Timestamp = Timestamp(clamping: 1_800_000_000_000_000)) async throws {
        let entries = try messages.map { json in
            guard case .feed(let update) = try submission(json) else {
                throw ServerFixtureError("not a feed message: \(json)")
            }
            return FeedEntry(update: update, arrival: arrival)
        }
        _ = try await WorkerStore(pool: pool).apply(entries)
    }
}
