import BellhopRules
import Synchronization

@testable import Pipeline
@testable import Postgres
@testable import Store

/// A database in memory, to process batches without servers: the ledger's rules, and failures that a test requests.
///
/// It does not test any statement; the statements run against a real database.
final class MemoryStore: WorkerDatabase, OutletStore {
    /// A row of the ledger.
    struct Line {
        var state: DeliveryState
        var reason: String?
        var attempts = 0
        var claim: Claim?
        var leaseEnds: ContinuousClock.Instant
        var dueAt: ContinuousClock.Instant?
        var outcomeIsUnknown = false
        /// The priority of its record, or of its place in a backlog.
        var priority: Priority
        /// The time at which it was recorded, or last claimed.
        var updatedAt: Timestamp
        /// The backlog in which it waits, with its turn there.
        var backlog: (key: BacklogKey, queuedAt: Timestamp)?
        var digest: Timestamp?
        /// The number of times that it was written.
        var versions = 1
    }

    struct State {
        var holds: [OperatorHold] = []
        var people: [UserKey: Recipient] = [:]
        var follows: [FollowKey: StoredFollow] = [:]
        var records: [NotificationKey: InboxRecord] = [:]
        /// The time at which each was recorded.
        var recordedAt: [NotificationKey: Timestamp] = [:]
        var lines: [DeliveryKey: Line] = [:]
        var plans: [EventID: ContentHash] = [:]
        /// Users whose unread notifications were counted, in order.
        var counted: [String] = []
        /// The page that every take opens, for all users; `nil` if there is no fan-out.
        var page: ClaimedPage?
        /// Whether it fails on each page that is to be returned to the scheduler.
        var keepsPages = false
        var fed = 0
        var revoked: [String] = []
        /// The number of further calls that fail.
        var failuresToCome = 0
        /// Whether the reply to the next pull is lost after its execution.
        var losesPull = false
        /// Whether the reply to the next record is lost after its execution.
        var losesRecord = false
        /// The number of further records that fail, after those calls.
        var unrecordedToCome = 0
        /// The number of notifications in each claim.
        var claimSizes: [Int] = []
        /// Users whose records it always rejects.
        var refused: Set<UserID> = []
        /// Users whose data make it fail, at every look-up and record, while it answers for others.
        var damaged: Set<UserID> = []
        /// Users whose notifications it cannot look up, while it settles their deliveries.
        var unreadable: Set<UserID> = []
        /// The number of settlements that fail for a user, from now on.
        var unsettledToCome: [UserID: Int] = [:]
        /// Users whose unread notifications it cannot count.
        var uncountable: Set<UserID> = []
        /// Whether it takes too long to count.
        var isTooSlowToCount = false
        /// The rest in every budget's bucket; `nil` for an unlimited one.
        var budget: Int?
        /// The number of shares drawn from it.
        var drawn = 0
        /// The open breakers of other workers.
        var breakers: [OpenBreaker] = []
        /// Requested probes of breakers that were not returned.
        var probes = 0
    }

    let state = Mutex(State())
    let firstPause = Duration.seconds(10)
    let lease = Duration.seconds(60)
    let time: SkippingTime

    init(time: SkippingTime) {
        self.time = time
    }

    func answering<Value: Sendable>(
        _ body: (inout sending State) throws(PostgresError) -> sending Value
    ) throws(PostgresError) -> Value {
        try state.withLock { (state) throws(PostgresError) -> Value in
            guard state.failuresToCome == 0 else {
                state.failuresToCome -= 1
                throw PostgresError(.connectionLost, "away")
            }
            return try body(&state)
        }
    }

    // MARK: - Messages

    func recipients(of keys: Set<UserKey>) async throws(PostgresError) -> [UserKey: Recipient] {
        try answering { (state) throws(PostgresError) in
            try state.read(keys.map(\.user))
            return Dictionary(uniqueKeysWithValues: keys.map { ($0, state.people[$0] ?? Recipient()) })
        }
    }

    func unread(
        of people: [UserKey],
        leavingOut types: [AppID: [EventType]]
    ) async throws(PostgresError) -> [UserKey: Int] {
        try answering { (state) throws(PostgresError) in
            guard !state.isTooSlowToCount else {
                throw PostgresError(.timedOut, "too slow", sqlState: .queryCancelled)
            }
            guard state.uncountable.isDisjoint(with: people.map(\.user)) else { throw State.brokenPage }
            state.counted += people.map(\.user.text)
            var unread: [UserKey: Int] = [:]
            for key in people { unread[key] = state.records.keys.count { $0.recipient == key } }
            return unread
        }
    }

    func follows(_ keys: Set<FollowKey>) async throws(PostgresError) -> [FollowKey: StoredFollow] {
        try answering { state in state.follows.filter { keys.contains($0.key) } }
    }

    func recentPushes(
        _ questions: [RecentPushQuestion]
    ) async throws(PostgresError) -> [DecisionFacts.RecentPushes] {
        try answering { _ in questions.map { _ in DecisionFacts.RecentPushes() } }
    }

    func rehearse() async throws(PostgresError) {}

    func record(_ records: [InboxRecord], as claim: Claim) async throws(PostgresError) -> [RecordOutcome] {
        let ends = time.steady() + lease
        let now = clock
        return try answering { (state) throws(PostgresError) in
            guard state.unrecordedToCome == 0 else {
                state.unrecordedToCome -= 1
                throw PostgresError(.connectionLost, "away")
            }
            try state.read(records.map(\.user))
            guard records.allSatisfy({ !state.refused.contains($0.user) }) else {
                throw PostgresError(.server(.invalidParameterValue), "refused", sqlState: .invalidParameterValue)
            }
            let outcomes = records.map { record -> RecordOutcome in
                if let known = state.records[record.key] {
                    return known.words.contentHash.bytes == record.words.contentHash.bytes ? .duplicate : .conflict
                }
                state.records[record.key] = record
                state.recordedAt[record.key] = now
                for opening in record.deliveries {
                    let key = DeliveryKey(
                        notification: record.key,
                        channel: opening.channel,
                        target: opening.target
                    )
                    state.lines[key] = Line(
                        state: opening.state,
                        reason: opening.reason,
                        claim: opening.state == .sending ? claim : nil,
                        leaseEnds: ends,
                        priority: record.words.content.priority,
                        updatedAt: now
                    )
                }
                return .recorded
            }
            guard !state.losesRecord else {
                state.losesRecord = false
                throw PostgresError(.outcomeUnknown, "no reply")
            }
            return outcomes
        }
    }

    func keep(_ plans: [PlannedEvent]) async throws(PostgresError) -> [PlanOutcome] {
        try answering { state in
            plans.map { plan in
                if let known = state.plans[plan.event.id] {
                    return known.bytes == plan.contentHash.bytes ? .duplicate : .conflict
                }
                state.plans[plan.event.id] = plan.contentHash
                return .kept
            }
        }
    }

    func cancel(_ cancellations: [EventCancellation]) async throws(PostgresError) -> [Void] {
        try answering { _ in cancellations.map { _ in () } }
    }

    // MARK: - Fan-outs: at most one page, for all users

    func open(_ plans: [PlannedEvent]) async throws(PostgresError) -> [[FanoutPage]] {
        try answering { _ in plans.map { _ in [] } }
    }

    func take(
        _ page: FanoutPage,
        as claim: Claim,
        redelivered: Bool
    ) async throws(PostgresError) -> PageClaimResult {
        try answering { state in state.page.map { .open($0) } ?? .over }
    }
    func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(PostgresError) {}
    func untaken(of fanout: Int64) async throws(PostgresError) -> [FanoutPage] { [] }
    func audience(of page: ClaimedPage) async throws(PostgresError) -> [AudienceMember] {
        try answering { state in
            state.people.map { AudienceMember(key: $0, recipient: $1, follow: nil) }
        }
    }
    func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(PostgresError) -> [FanoutPage] { [] }
    func pause(_ page: FanoutPage, because trouble: String) async throws(PostgresError) {}
    func giveBack(_ pages: [FanoutPage]) async throws(PostgresError) {
        try answering { (state) throws(PostgresError) in
            guard !state.keepsPages else { throw State.brokenPage }
        }
    }

    func apply(_ feeds: [FeedEntry]) async throws(PostgresError) -> [Void] {
        try answering { state in
            state.fed += feeds.count
            return feeds.map { _ in () }
        }
    }

    func report(_ reports: [ReplayReport]) async throws(PostgresError) {
        try answering { _ in () }
    }

    // MARK: - The ledger

    func claim(_ keys: [NotificationKey], as claim: Claim) async throws(PostgresError) -> ClaimResult {
        let now = time.steady()
        let claimedAt = clock
        let wanted = Set(keys)
        return try answering { (state) throws(PostgresError) in
            try state.read(keys.map(\.recipient.user))
            state.claimSizes.append(keys.count)
            var harvest = ClaimResult()
            for (key, line) in state.lines where wanted.contains(key.notification) {
                let isOwn = line.claim == claim
                switch line.state {
                case .sending where line.leaseEnds > now && !isOwn:
                    harvest.leased[key.notification] = line.leaseEnds - now
                    continue
                case .retrying where (line.dueAt ?? now) > now:
                    harvest.retrying[key.notification] = (line.dueAt ?? now) - now
                    continue
                case .deferred where line.backlog != nil || (line.dueAt ?? now) > now: continue
                case .sending, .retrying, .deferred, .pending: break
                case .accepted, .delivered, .suppressed, .expired, .failed, .unknown: continue
                }
                harvest.claimed.append(
                    ClaimedDelivery(
                        key: key,
                        attempts: line.attempts,
                        outcomeWasUnknown: line.outcomeIsUnknown || (line.state == .sending && !isOwn),
                        digest: line.digest
                    )
                )
                state.lines[key]?.take(claim, at: claimedAt, until: now + lease)
            }
            return harvest
        }
    }

    func notifications(
        _ keys: [NotificationKey]
    ) async throws(PostgresError) -> [NotificationKey: StoredNotification] {
        try answering { (state) throws(PostgresError) in
            let users = keys.map(\.recipient.user)
            try state.read(users)
            guard state.unreadable.isDisjoint(with: users) else { throw State.brokenPage }
            var found: [NotificationKey: StoredNotification] = [:]
            for key in keys {
                guard let record = state.records[key] else { continue }
                found[key] = StoredNotification(
                    content: record.words.content,
                    isRead: false,
                    isSuperseded: false,
                    createdAt: state.recordedAt[key] ?? Timestamp(clamping: 0)
                )
            }
            return found
        }
    }

    func claimReceipts(_ keys: [DeliveryKey], as claim: Claim) async throws(PostgresError) -> [OpenReceipt] { [] }

    func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int {
        let now = time.steady()
        let settledAt = clock
        return try answering { (state) throws(PostgresError) in
            try state.read(settlements.map(\.key.notification.recipient.user))
            for user in Set(settlements.map(\.key.notification.recipient.user)) {
                guard let left = state.unsettledToCome[user], left > 0 else { continue }
                state.unsettledToCome[user] = left - 1
                throw State.brokenPage
            }
            return settlements.count { settlement in
                guard var line = state.lines[settlement.key], line.state == .sending, line.claim == claim else {
                    return false
                }
                line.state = settlement.state
                line.reason = settlement.reason
                line.attempts += settlement.burnsAttempt ? 1 : 0
                line.outcomeIsUnknown = settlement.outcomeIsUnknown
                line.claim = nil
                line.dueAt = settlement.dueIn.map { now + $0 }
                line.backlog = settlement.backlog.map { ($0.place.key, $0.queuedAt ?? line.updatedAt) }
                line.priority = settlement.backlog?.place.priority ?? line.priority
                line.updatedAt = settledAt
                line.versions += 1
                state.lines[settlement.key] = line
                return true
            }
        }
    }

    func leaveToSweeper(_ keys: [NotificationKey]) async throws(PostgresError) -> Set<NotificationKey> {
        let wanted = Set(keys)
        return try answering { state in
            for (key, line) in state.lines where wanted.contains(key.notification) {
                if line.state == .retrying { state.lines[key]?.state = .deferred }
                if line.state == .sending { state.lines[key]?.dueAt = line.leaseEnds }
            }
            return []
        }
    }

    var clock: Timestamp { Timestamp(clamping: time.now().microseconds) }

    // MARK: - Devices and providers

    func revoke(_ devices: [DeadDevice]) async throws(PostgresError) -> Int {
        try answering { state in
            state.revoked += devices.map(\.subscription)
            return devices.count
        }
    }

    func note(_ devices: [ReachedDevice]) async throws(PostgresError) -> Int { 0 }

    func draw(_ draw: BudgetRequest) async throws(PostgresError) -> Int {
        try answering { state in
            let granted = min(state.budget ?? .max, draw.wanted)
            state.budget? -= granted
            state.drawn += granted
            return granted
        }
    }

    func openBreakers() async throws(PostgresError) -> [OpenBreaker] { state.withLock(\.breakers) }
    func open(_ key: BreakerKey, reason: String) async throws(PostgresError) {}
    func reopen(_ key: BreakerKey, reason: String, isTelling: Bool) async throws(PostgresError) {}
    func close(_ key: BreakerKey) async throws(PostgresError) -> Bool { true }

    func knock(_ key: BreakerKey) async throws(PostgresError) -> ProbeClaim {
        try answering { state in
            state.probes += 1
            return .mayProbe
        }
    }

    func giveBackProbe(of key: BreakerKey) async throws(PostgresError) {
        try answering { $0.probes -= 1 }
    }

    func platformsReached(of app: AppID, by provider: String) async throws(PostgresError) -> Set<DevicePlatform> {
        [.android]
    }

    func holds() async throws(PostgresError) -> [OperatorHold] { state.withLock(\.holds) }
    func deathsSince(_ key: BreakerKey) async throws(PostgresError) -> Timestamp? { nil }
    func takeBack(_ key: BreakerKey, since: Timestamp) async throws(PostgresError) -> Int { 0 }
}

extension MemoryStore.Line {
    mutating func take(_ claim: Claim, at now: Timestamp, until end: ContinuousClock.Instant) {
        state = .sending
        self.claim = claim
        leaseEnds = end
        updatedAt = now
        dueAt = nil
        backlog = nil
        versions += 1
    }
}

extension MemoryStore.State {
    /// Throws if one of the users is damaged, as a server does on an invalid page.
    fileprivate func read(_ users: [UserID]) throws(PostgresError) {
        guard damaged.isDisjoint(with: users) else { throw Self.brokenPage }
    }

    fileprivate static var brokenPage: PostgresError {
        let state = SQLState(known: "XX001")
        return PostgresError(.server(state), "invalid page", sqlState: state)
    }
}
