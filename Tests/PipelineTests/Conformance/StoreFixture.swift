import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Pipeline
@testable import Store

/// A store whose promises are tested: each promise is tested on the one in memory and on PostgreSQL.
enum StoreKind: String, CaseIterable, CustomTestStringConvertible {
    case memory, postgres

    /// The stores that can be tested here; PostgreSQL requires a server.
    static var available: [StoreKind] { Servers.databaseURL == nil ? [.memory] : allCases }

    var testDescription: String { rawValue }
}

/// An empty store, with the means to fill it, to read its rows and to let time pass.
///
/// A claim is valid for a minute, and a page of a fan-out has seven users.
struct StoreFixture: Sendable {
    let store: any WorkerDatabase & OutletStore
    private let place: Place
    private let catalogs: CatalogSet

    private enum Place {
        case memory(MemoryStore)
        case postgres(ServerFixture)
    }

    static let lease = Duration.seconds(60)
    static let usersPerPage = 7
    static let device = "sub_0000000000000001"

    static func with(_ kind: StoreKind, _ body: (StoreFixture) async throws -> Void) async throws {
        let catalogs = try ServerFixture.drop()
        switch kind {
        case .memory:
            let store = MemoryStore(time: SkippingTime(), usersPerPage: usersPerPage)
            try await body(StoreFixture(store: store, place: .memory(store), catalogs: catalogs))
        case .postgres:
            try await ServerFixture.withSchema { servers in
                let store = WorkerStore(pool: servers.pool, lease: lease, usersPerPage: usersPerPage)
                try await body(StoreFixture(store: store, place: .postgres(servers), catalogs: catalogs))
            }
        }
    }

    // MARK: - Time

    /// Lets time pass: the clock in memory is moved, and the times in the tables are moved back.
    func pass(_ span: Duration) async throws {
        switch place {
        case .memory(let store): store.time.skip(span)
        case .postgres(let servers):
            for (table, columns) in Self.times {
                let changes = columns.map { "\($0) = \($0) - $1::bigint * interval '1 us'" }.joined(separator: ", ")
                _ = try await servers.owner.run(
                    Statement("UPDATE \(table) SET \(changes)"),
                    [.integer(span.microseconds)]
                )
            }
        }
    }

    /// The times of the database clock.
    private static let times = [
        ("ledger", ["due_at", "updated_at", "sent_at", "queued_at"]), ("inbox", ["created_at"]),
        ("breakers", ["opened_at", "probe_at", "deaths_since"]), ("provider_budgets", ["refilled_at"]),
        ("fanouts", ["started_at", "resumed_at"]), ("fanout_pages", ["taken_at", "handed_over_at"]),
        ("follows", ["followed_at"]), ("recipients", ["recorded_at"]), ("push_subscriptions", ["revoked_at"]),
    ]

    /// The time of the store's clock.
    func now() async throws -> Timestamp {
        switch place {
        case .memory(let store): store.clock
        case .postgres(let servers):
            Timestamp(clamping: try await servers.owner.run("SELECT now()", []).instant(0, 0))
        }
    }

    // MARK: - Rows

    /// Returns the deliveries, ordered by user and target: user, state, reason, attempts and backlog.
    func lines() async throws -> [String] {
        switch place {
        case .memory(let store):
            store.state.withLock { state in
                state.lines.map { key, line in
                    let words = [
                        key.notification.recipient.user.text, line.state.rawValue, line.reason ?? "-",
                        String(line.attempts), line.backlog?.key.text ?? "-",
                    ]
                    return words.joined(separator: " ")
                }.sorted()
            }
        case .postgres(let servers):
            try await servers.column(
                """
                SELECT concat_ws(' ', user_id, state, coalesce(reason, '-'), attempts, coalesce(outlet, '-'))
                FROM deliveries
                """
            ).compactMap { $0 }.sorted()
        }
    }

    // MARK: - Events

    static func user(_ name: String) throws -> UserKey {
        UserKey(app: try #require(AppID(validating: "drop")), user: try #require(UserID(validating: name)))
    }

    private func submission(_ json: String) throws -> Submission {
        try SubmissionParser(catalogs).parse(InboundEnvelope(body: Array(json.utf8), source: .elsewhere)).get()
    }

    /// Returns an event of the type `system` with further members, such as its audience.
    func event(_ id: String, title: String = "Hei", _ members: String) throws -> Event {
        let json = #"{"id":"\#(id)","app":"drop","eventType":"system","title":"\#(title)","body":"",\#(members)}"#
        guard case .event(let event) = try submission(json) else { throw ServerFixtureError("not an event: \(json)") }
        return event
    }

    /// Returns an event as it is stored until its expansion.
    func plan(_ id: String, _ audience: String) throws -> PlannedEvent {
        let event = try event(id, #""to":\#(audience)"#)
        return PlannedEvent(event: event, contentHash: ContentHash(of: event), priority: .low, expiresAt: nil)
    }

    /// Returns the records of an event, each with a delivery in this state.
    func records(
        _ id: String,
        to users: [String],
        title: String = "Hei",
        _ members: String = #""data":{}"#,
        delivery: NewDelivery? = .sending(to: device)
    ) throws -> [InboxRecord] {
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        let event = try event(id, title: title, #""to":{"users":[\#(names)]},\#(members)"#)
        guard let catalog = catalogs[event.app], let type = catalog[event.type] else {
            throw ServerFixtureError("no catalogue")
        }
        let words = NotificationText(
            event: event,
            contentHash: ContentHash(of: event),
            rendered: try catalog.render(event, language: nil).get(),
            type: type,
            in: catalog,
            expiresAt: event.expiresAt
        )
        return try users.map { name in
            InboxRecord(words, for: try Self.user(name).user, deliveries: delivery.map { [$0] } ?? [])
        }
    }

    /// Records an event with one claimed delivery per user.
    func send(
        _ id: String = "e1",
        to users: [String],
        _ members: String = #""data":{}"#,
        as claim: Claim
    ) async throws -> [InboxRecord] {
        let records = try records(id, to: users, members)
        let outcomes = try await store.record(records, as: claim)
        try #require(outcomes.allSatisfy { $0 == .recorded })
        return records
    }

    /// Puts one delivery per user into a backlog, in this order and a second apart.
    func wait(_ users: [String], at place: BacklogPlace, reason: WaitReason = .windowFull) async throws {
        for user in users {
            let claim = Claim.fresh
            let records = try await send("e-\(user)", to: [user], as: claim)
            _ = try await store.settle(records.map { $0.waiting(at: place, reason) }, of: claim)
            try await pass(.seconds(1))
        }
    }

    // MARK: - Users

    /// Applies feed messages of one user: each is a type with further members.
    ///
    /// Each is said a second later than the one before, beginning at noon.
    func feed(_ user: String, _ messages: (type: String, members: String)..., from second: Int = 0) async throws {
        let arrival = Timestamp(clamping: 1_800_000_000_000_000)
        let entries = try messages.enumerated().map { number, message in
            let time = try #require(Timestamp(validating: "2026-03-01T12:00:00Z")) + .seconds(second + number)
            let json =
                #"{"app":"drop","userId":"\#(user)","eventType":"\#(message.type)","sentAtIso":"\#(time)"\#(message.members)}"#
            guard case .feed(let update) = try submission(json) else {
                throw ServerFixtureError("not a feed message: \(json)")
            }
            return FeedEntry(update: update, arrival: arrival)
        }
        _ = try await store.apply(entries)
    }

    /// Registers an Android device of FCM with this token, and returns it.
    func register(_ user: String, token: String) async throws -> Device {
        try await feed(user, ("subscription.upserted", #","token":"\#(token)","platform":"android","provider":"fcm""#))
        return try #require(try await devices(user).first { $0.token.text == token })
    }

    func devices(_ user: String) async throws -> [Device] {
        let key = try Self.user(user)
        return try await store.recipients(of: [key])[key]?.devices ?? []
    }

    func follow(_ users: [String], _ topic: String) async throws {
        for user in users { try await feed(user, ("follow.added", #","topic":"\#(topic)""#)) }
    }

    /// Returns the user's key as a batch has it: with the user's number, if the user has one.
    func known(_ user: String) async throws -> UserKey {
        try #require(try await store.recipients(of: [try Self.user(user)]).keys.first)
    }

    /// Places a hold as an operator does.
    func place(_ scope: HoldScope) async throws {
        switch place {
        case .memory(let store):
            store.state.withLock { state in
                state.holds.append(
                    OperatorHold(
                        number: Int64(state.holds.count + 1),
                        scope: scope,
                        placedAt: store.clock,
                        operator: "ada",
                        because: "a test"
                    )
                )
            }
        case .postgres(let servers):
            let `operator` = ActingOperator(name: "ada", because: "a test")
            _ = try await HoldAdmin(pool: servers.owner).place(scope, by: `operator`)
        }
    }
}

extension BacklogPlace {
    /// The backlog of the app `drop` at FCM.
    static func fcm(_ priority: Priority = .normal) throws -> BacklogPlace {
        BacklogPlace(try #require(BacklogKey("drop/fcm")), priority)
    }
}

extension BacklogPoll {
    static func fcm(_ priority: Priority = .normal) throws -> BacklogPoll {
        BacklogPoll(try .fcm(priority), since: nil)
    }
}

extension Claim {
    static var fresh: Claim {
        var chance = SystemRandomNumberGenerator()
        return Claim(using: &chance)
    }
}

extension InboxRecord {
    /// The record's delivery to the one device.
    var line: DeliveryKey { DeliveryKey(notification: key, channel: .push, target: StoreFixture.device) }

    func settled(
        _ state: DeliveryState,
        _ reason: String? = nil,
        burnsAttempt: Bool = true,
        dueIn: Duration? = nil
    ) -> Settlement {
        Settlement(line, state, reason: reason, burnsAttempt: burnsAttempt, dueIn: dueIn)
    }

    /// The settlement that puts the delivery into a backlog.
    func waiting(at place: BacklogPlace, _ reason: WaitReason, queuedAt: Timestamp? = nil) -> Settlement {
        var settlement = settled(.deferred, reason.rawValue, burnsAttempt: false)
        settlement.backlog = BacklogEntry(place, queuedAt: queuedAt)
        return settlement
    }
}

extension [ClaimedDelivery] {
    var users: [String] { map(\.key.notification.recipient.user.text) }
}
