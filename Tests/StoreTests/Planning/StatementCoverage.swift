import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
@testable import Store
import TestSupport

/// Runs every statement of workers and schedulers once, on one connection, so that the server's plans can be read
/// afterwards.
///
/// A method of `Store` that the processes call belongs here; ``WrittenStatements`` finds the missing ones.
struct StatementCoverage {
    let servers: ServerFixture
    /// A pool of a single connection with a worker's rights.
    let pool: PostgresPool
    /// Separates the users, events and dead letters of one tour from those of another.
    let round: Int
    /// Whether the tour includes the jobs that walk through a whole table on purpose.
    var walks = true

    static func pool(on servers: ServerFixture) throws -> PostgresPool {
        try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .worker), size: 1)
    }

    private var users: [String] { (1...3).map { "tour\(round)-\($0)" } }

    /// A user whose rows fail is left out, and the others of a failed statement are named.
    private let filters = [UserFilter.only([1, 2], until: DeadLetterSamples.now), .all(except: [1]), .everyone]

    private var words: FeedMessages { FeedMessages(users: users) }

    func run() async throws {
        try await feeds()
        try await notifications()
        try await people()
        try await duties()
        try await gateways()
        try await DeadLetterStatementCoverage(servers: servers, pool: pool, round: round).run()
    }

    private func feeds() async throws {
        let store = WorkerStore(pool: pool)
        for part in words.parts {
            try await letters()
            try await boundaries()
            let entries = try part.map {
                FeedEntry(update: try ServerFixture.update($0), arrival: DeadLetterSamples.now)
            }
            _ = try await store.apply(entries)
        }
    }

    /// Stores dead letters of two users who are then erased, and of one of them together with another user.
    private func letters() async throws {
        let file = DeadLetterStore(pool: pool)
        let audiences: [[String]] = [[users[2], users[2] + "-too"], [users[1], users[2]]]
        var items = audiences.enumerated().map { number, named in
            var item = DeadLetterSamples.rejected("erased\(round)-\(number)")
            let list = named.map { "\"\($0)\"" }.joined(separator: ",")
            item.origin.body = Array("{\"to\":{\"users\":[\(list)]}}".utf8)
            return item
        }
        // The broker's dead letters are identified by their content; they arrive twice in one batch and again later.
        var recurring = DeadLetterSamples.rejected("recurring\(round)")
        recurring.identity = .content
        items += [recurring, recurring]
        _ = try await file.file(items)
        _ = try await file.file([recurring])
    }

    /// Opens a fan-out whose page ends with a user who is then erased.
    private func boundaries() async throws {
        let names: [Parameter] = [.text("bounds\(round)"), .text(users[2])]
        try await write(
            """
            INSERT INTO events (app, id, cancelled_at) VALUES ('drop', $1, now()) ON CONFLICT (app, id) DO NOTHING
            """,
            [names[0]]
        )
        try await write(
            """
            WITH opened AS (
                INSERT INTO fanouts (app, event_id, type, urgency, state, planned_to)
                VALUES ('drop', $1, 'system', 2, 'paused', $2)
                ON CONFLICT (app, event_id) DO UPDATE SET planned_to = excluded.planned_to
                RETURNING number
            )
            INSERT INTO fanout_pages (fanout, page, after, upto, handed_over_at)
            SELECT number, 0, $2, $2, 'infinity' FROM opened
            ON CONFLICT (fanout, page) DO UPDATE SET after = excluded.after, upto = excluded.upto
            """,
            names
        )
    }

    // MARK: - The inbox and the ledger

    private func notifications() async throws {
        let inbox = WorkerStore(pool: pool)
        let ledger = WorkerStore(pool: pool, lease: .zero)
        let history = try servers.records(id: "history\(round)", users: users, title: "Hei")
        _ = try await inbox.importHistory(history.map { record in HistoricNotification(record, readAt: nil) })
        let records = try servers.sending(id: "tour\(round)", users: users)
        _ = try await inbox.record(records, as: .fresh)
        _ = try await inbox.record(records, as: .fresh)
        let others = try (1...20).flatMap { try servers.records(id: "tour\(round)-\($0)", users: users, title: "Hei") }
        _ = try await inbox.record(others, as: .fresh)
        _ = try await inbox.foresee(records)
        let keys = records.map(\.key)
        _ = try await inbox.notifications(keys)
        let people = try await WorkerStore(pool: pool).recipients(of: keys.map(\.recipient))
        _ = try await inbox.unread(of: Array(people.keys))
        _ = try await WorkerStore(pool: pool).recentPushes(
            people.keys.map { RecentPushQuestion($0, burst: ("key", .seconds(60)), most: 5) }
        )
        let venue = try Self.identifier(Topic(validating: "venue:1"))
        _ = try await WorkerStore(pool: pool).follows(Set(keys.map { FollowKey($0.recipient, venue) }))
        let claim = Claim.fresh
        let claimed = try await ledger.claim(keys, as: claim).claimed
        let settlements = claimed.map { delivery in
            var settlement = Settlement(delivery.key, .accepted, providerMessageID: "ticket", dueIn: .zero)
            settlement.sentAt = DeadLetterSamples.ago(60)
            return settlement
        }
        _ = try await ledger.settle(settlements, of: claim)
        _ = try await ledger.settle(keys.map { Settlement(DeliveryKey($0, target: 1), .delivered) }, of: .fresh)
        _ = try await ledger.leaveToSweeper(keys)
        // Nothing is owed, so that a second statement checks whether a delivery was left out.
        _ = try await ledger.claim(keys, as: .fresh)
        let receipts = WorkerStore(pool: pool)
        for filter in filters {
            _ = try await receipts.receiptHead(atMost: 10, within: .seconds(60), of: filter)
            try await receipts.giveBackReceipts(Array(try await receipts.takeReceipts(atMost: 10, of: filter)))
        }
        _ = try await receipts.claimReceipts(claimed.map(\.key), as: .fresh)
        try await backlogs(keys)
        for priority in Priority.allCases {
            let book = DueDeliveryStore(pool: pool, strandedAfter: .zero)
            for filter in filters {
                _ = try await book.head(priority, atMost: 10, within: .seconds(60), claimedBy: [1], of: filter)
                _ = try await book.take(priority, atMost: 10, claimedBy: [1], of: filter)
            }
            let lost = LostTake(priority: priority, begin: .now - .seconds(10), end: .now)
            _ = try await book.takeAgain(lost) { .now }
        }
        let retries = RetryStore(pool: pool)
        _ = try await retries.waiting(atMost: 10)
        _ = try await retries.limited(atMost: 10)
        _ = try await retries.others(atMost: 10)
        _ = try await retries.due(atMost: 10)
        for priority in Priority.allCases {
            _ = try await retries.bringForward(
                keys[0].recipient.app,
                "fcm",
                priority,
                from: nil,
                atMost: 10,
                after: .zero,
                pausing: .milliseconds(5)
            )
        }
        _ = try await ForgottenClaimStore(pool: pool, olderThan: .zero).look(from: 0, pages: 1)
        // The second pass waits until every transaction of the server that overlapped the erasure has ended, including
        // those of other tests.
        let erasures = ErasureStore(pool: pool)
        try await eventually("it is erased again") { try await erasures.repeatDue(after: .zero, atMost: 10) > 0 }
        _ = try await erasures.oldest()
    }

    /// Writes as the owner, but by keys, because the rows read here are counted with those of a worker's statements.
    private func write(_ statement: Statement, _ parameters: [Parameter]) async throws {
        _ = try await servers.owner.transaction { (connection) throws(PostgresError) in
            try connection.execute("SET LOCAL enable_seqscan TO off")
            return try connection.run(statement, parameters)
        }
    }

    /// Puts one delivery into the backlog of an outlet and pulls it.
    private func backlogs(_ keys: [NotificationKey]) async throws {
        let book = WorkerStore(pool: pool, lease: .seconds(60))
        let key = BacklogKey(app: keys[0].recipient.app, provider: "tour\(round)")
        try await write(
            """
            UPDATE ledger SET state = 'w', outlet = $2, queued_at = now(), due_at = NULL, sent_at = NULL
            WHERE person = (SELECT number FROM people WHERE app = 'drop' AND user_id = $1)
            """,
            [.text(users[0]), .text(key.text)]
        )
        let look = BacklogPoll(BacklogPlace(key, .low), since: DeadLetterSamples.ago(60))
        _ = try await book.heads([look])
        _ = try await book.backlogNames()
        _ = try await book.release(key.text, atMost: 10, after: .seconds(600))
        for filter in filters { _ = try await book.head(look, atMost: 10, of: filter) }
        _ = try await book.scout(look, as: .fresh)
        let claim = Claim.fresh
        _ = try await book.pull(look, atMost: 1, as: claim)
        _ = try await book.regain(key, as: claim)
    }

    // MARK: - People and their devices

    private func people() async throws {
        let keys = try users.map(Self.recipient)
        _ = try await WorkerStore(pool: pool).recipients(of: keys)
        let reached = WorkerStore(pool: pool)
        _ = try await reached.note(
            try keys.map { key in
                var device = Device(
                    subscription: "sub_0000000000000001",
                    token: try Self.identifier(DeviceToken(validating: "token-\(key.user.text)")),
                    platform: .android,
                    provider: .fcm
                )
                device.mark = "0123456789abcde"
                return ReachedDevice(recipient: key, device: device)
            }
        )
        _ = try await reached.platformsReached()
        let revocations = WorkerStore(pool: pool)
        let devices = try keys.map { key in
            DeadDevice(
                recipient: key,
                subscription: "sub_0000000000000001",
                token: try Self.identifier(DeviceToken(validating: "token-\(key.user.text)")),
                reason: "UNREGISTERED",
                deadSince: DeadLetterSamples.now
            )
        }
        _ = try await revocations.revoke(devices)
        _ = try await revocations.takeBack(
            BreakerKey(app: keys[0].app, provider: "fcm"),
            since: DeadLetterSamples.ago(600)
        )
        if walks {
            for isRehearsal in [true, false] {
                var search = StaleDeviceWalk.Search(days: 90)
                search.isRehearsal = isRehearsal
                var walk = StaleDeviceWalk(pool: pool, search: search)
                while try await walk.step() {}
            }
        }
        // Reading a notification requests a badge update.
        try await write(
            """
            UPDATE inbox SET read_at = now()
            WHERE person = (SELECT number FROM people WHERE app = 'drop' AND user_id = $1)
            """,
            [.text(users[0])]
        )
        let badges = BadgeStore(pool: pool)
        for filter in filters {
            _ = try await badges.head(atMost: 10, calm: .zero, within: .seconds(60), of: filter)
            try await badges.giveBack(try await badges.take(atMost: 10, calm: .zero, of: filter))
        }
        try await badges.finish(try await badges.take(atMost: 10, calm: .zero))
    }

    // MARK: - What falls due

    private func duties() async throws {
        let plans = WorkerStore(pool: pool)
        let later = Timestamp(clamping: DeadLetterSamples.now.microseconds + 60_000_000)
        let events = try ["kept", "taken-back"].map { id in
            try event(#"{"id":"\#(id)\#(round)","to":{"user":"\#(users[0])"},"deliverAt":"\#(later)""#)
        }
        let topic = try event(#"{"id":"wide\#(round)","to":{"topic":"venue:1"}"#)
        let all = try event(#"{"id":"all\#(round)","to":{"everyone":true}"#)
        _ = try await plans.keep(events + [topic, all])
        // The content differs, so that it is compared with the content that a scheduler publishes.
        _ = try await plans.keep([try event(#"{"id":"wide\#(round)","to":{"topic":"venue:1"},"venueId":"1""#)])
        try await fanouts(topic, all)
        _ = try await plans.cancel([EventCancellation(app: events[1].event.app, event: events[1].event.id)])
        _ = try await servers.owner.run(
            "UPDATE events SET planned_at = now() WHERE app = 'drop' AND id = $1",
            [.text("kept\(round)")]
        )
        let due = try await plans.takeDueEvents(atMost: 10)
        try await plans.giveBack(due)
        try await plans.markExpanded(due)
        let reminders = ReminderStore(pool: pool)
        let open = try await reminders.open(atMost: 10)
        try await reminders.release(Array(open.prefix(1)))
        try await reminders.keep(open.dropFirst().map { ReminderPlan($0, next: later) })
        // At least one page of each table has been written by now.
        let retention = RetentionStore(pool: pool, retention: .usual)
        for kind in retention.kinds {
            _ = try await retention.look(for: kind, from: 0, pages: 1)
            _ = try await retention.look(for: kind, from: 0, pages: 1, with: .init(time: SystemTime()))
            _ = try await retention.count(kind, from: 0, pages: 1, upTo: .epoch)
            try await retention.raise(kind, from: .epoch)
        }
        var walk = FarInstantBook.Walk()
        for place in FarInstantBook.Place.allCases {
            _ = try await FarInstantBook(pool: pool).setBack(in: place, &walk)
        }
    }

    private func fanouts(_ events: PlannedEvent...) async throws {
        let book = WorkerStore(pool: pool, usersPerPage: 2)
        let opened = try await book.open(events)
        _ = try await book.open(events)
        let claim = Claim.fresh
        for page in opened.joined() {
            guard case .open(let open) = try await book.take(page, as: claim, redelivered: true) else { continue }
            _ = try await book.audience(of: open)
            _ = try await book.finish(page, PageCounts())
            _ = try await book.untaken(of: page.fanout)
            _ = try await book.takeForgottenPages(atMost: 10, lostAfter: .seconds(300))
            try await book.giveBack(open.further + [page])
            for page in open.further {
                try await book.putBack(page, takenAs: claim)
                try await book.pause(page, because: "unknown-type")
                _ = try await book.take(page, as: claim, redelivered: false)
            }
        }
    }

    private func event(_ beginning: String) throws -> PlannedEvent {
        let json = beginning + #","app":"drop","eventType":"system","title":"Hei","body":""}"#
        guard case .event(let event) = try servers.submission(json) else {
            throw ServerFixtureError("no event: \(json)")
        }
        return PlannedEvent(event: event, contentHash: ContentHash(of: event), priority: .low, expiresAt: nil)
    }

    // MARK: - Providers

    private func gateways() async throws {
        _ = try await OperatorHold.all(on: pool)
        let processes = HeartbeatStore(pool: pool)
        _ = try await processes.hear("tour\(round)")
        let identity = Heartbeat.Identity(id: "tour", role: "worker", version: "1", host: "here", process: 1)
        try await processes.announce(Heartbeat(identity, catalogs: "0"))
        _ = try await processes.all()
        _ = try await processes.silent()
        try await processes.leave("tour")
        _ = try await DatabaseClock(pool: pool, time: SystemTime()).compare()
        let claimants = ClaimantBook(pool: pool)
        let number = try await claimants.enrol()
        try await claimants.beat(number, 1)
        _ = try await pool.run(Statement(ClaimantBook.lock(number)))
        _ = try await claimants.sightings(knowing: [number])
        try await claimants.forget([number])
        let breakers = WorkerStore(pool: pool)
        let key = BreakerKey(app: try Self.recipient(users[0]).app, provider: "fcm")
        try await breakers.open(key, reason: OpenBreaker.massDeath)
        try await breakers.reopen(key, reason: OpenBreaker.massDeath)
        _ = try await breakers.knock(key)
        try await breakers.giveBackProbe(of: key)
        _ = try await (breakers.openBreakers(), breakers.discardedEvents())
        _ = try await breakers.deathsSince(key)
        _ = try await breakers.close(key)
        _ = try await WorkerStore(pool: pool).draw(
            BudgetRequest(name: "tour", capacity: 10, refillPerSecond: 1, wanted: 1, reserve: 0)
        )
    }

    private static func recipient(_ user: String) throws -> UserKey {
        UserKey(
            app: try identifier(AppID(validating: "drop")),
            user: try identifier(UserID(validating: user))
        )
    }

    static func identifier<Identifier>(_ made: Identifier?) throws -> Identifier {
        guard let made else { throw ServerFixtureError("not an identifier") }
        return made
    }
}

/// Messages of every kind about three users, in the order in which a tour sends them.
private struct FeedMessages {
    let users: [String]

    var parts: [[String]] {
        let all = users.flatMap { user in
            [
                word(
                    "recipient.upserted",
                    user,
                    #","timezone":"Europe/Oslo","email":"a@b.example","emailEnabled":true,"preferences":{"enabled":true}"#
                ),
                word("subscription.upserted", user, device("former-\(user)")),
                word("follow.added", user, #","topic":"venue:1""#),
                word("reminder.set", user, #","id":"r1","localTime":"09:00","title":"T","body":"B""#),
                word("follow.added", user, #","topic":"venue:2""#),
                word("reminder.set", user, #","id":"r2","localTime":"09:00","title":"T","body":"B""#),
            ]
        }
        let changes = [
            word("subscription.upserted", users[0], device("token-\(users[0])") + replacing("former-\(users[0])")),
            word("subscription.revoked", users[0], #","token":"token-\#(users[0])""#),
            word("follow.removed", users[1], #","topic":"venue:2""#),
            word("reminder.removed", users[1], #","id":"r2""#),
            word("notification.read", users[0], #","ids":["noti_0000000000000001"]"#),
            word("notification.read", users[1], #","all":true"#),
            word("recipient.deleted", users[2], ""), word("recipient.deleted", users[2] + "-too", ""),
        ]
        return [all, changes]
    }

    private func replacing(_ token: String) -> String { #","replaces":"\#(token)""# }

    private func device(_ token: String) -> String {
        #","token":"\#(token)","platform":"android","provider":"fcm""#
    }

    private func word(_ type: String, _ user: String, _ rest: String) -> String {
        #"{"app":"drop","eventType":"\#(type)","userId":"\#(user)"\#(rest)}"#
    }
}
