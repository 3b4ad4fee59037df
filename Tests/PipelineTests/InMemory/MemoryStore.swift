import BellhopRules
import Synchronization

@testable import Pipeline
@testable import Postgres
@testable import Store

/// A database in memory, to process batches without servers, and failures that a test requests.
///
/// It keeps the promises of the tables: the suites in `Conformance` run on it and on PostgreSQL.
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
        /// The end of the wait that a rule requires.
        var until: Timestamp?
        var digest: Timestamp?
        /// Whether it waits, or has waited, for the end of a burst.
        var isBurst = false
        var sentAt: Timestamp?
        var providerMessageID: String?
        /// The number of times that it was written.
        var versions = 1
    }

    /// An app's event, by the producer's id.
    struct EventKey: Hashable {
        let app: AppID
        let id: EventID
    }

    struct State {
        var holds: [OperatorHold] = []
        var discardedEvents: [DiscardedEvent] = []
        var people: [UserKey: Recipient] = [:]
        var follows: [FollowKey: StoredFollow] = [:]
        var records: [NotificationKey: InboxRecord] = [:]
        /// The time at which each was recorded.
        var recordedAt: [NotificationKey: Timestamp] = [:]
        var lines: [DeliveryKey: Line] = [:]
        /// Notifications that their users have read.
        var read: Set<NotificationKey> = []
        /// The users' numbers, by which a pull leaves users out.
        var numbers: [UserKey: Int64] = [:]
        /// The time since which a user is known.
        var knownSince: [UserKey: Timestamp] = [:]
        /// The time since which a user follows a topic.
        var followedSince: [FollowKey: Timestamp] = [:]
        /// The times of the newest updates, by their subjects.
        var updatedAt: [String: Timestamp] = [:]
        /// Erased users, with the times of the erasure and of their return.
        var tombstones: [UserKey: (deletedAt: Timestamp, returnedAt: Timestamp?)] = [:]
        /// The times at which devices were registered, by their subscriptions.
        var registeredAt: [String: Timestamp] = [:]
        var revokedDevices: [RevokedDevice] = []
        var plans: [EventKey: PlannedEvent] = [:]
        var cancelled: Set<EventKey> = []
        var fanouts: [Fanout] = []
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
        /// The time that a poll of the backlogs takes.
        var pollTakes = Duration.zero
        /// The number of polls from the beginning of all backlogs.
        var wholePolls = 0
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
        /// The buckets without such a limit, by name.
        var buckets: [String: (tokens: Double, refilledAt: Timestamp)] = [:]
        var breakers: [BreakerKey: Breaker] = [:]
        /// Requested probes of breakers that were not returned.
        var probes = 0
    }

    let state = Mutex(State())
    let firstPause = Duration.seconds(10)
    let lease = Duration.seconds(60)
    let usersPerPage: Int
    let time: SkippingTime

    init(time: SkippingTime, usersPerPage: Int = FanoutPage.usualSize) {
        self.time = time
        self.usersPerPage = usersPerPage
    }

    var clock: Timestamp { Timestamp(clamping: time.now().microseconds) }

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

    func rehearse() async throws(PostgresError) {}

    func report(_ reports: [ReplayReport]) async throws(PostgresError) {
        try answering { _ in () }
    }

    func holds() async throws(PostgresError) -> [OperatorHold] { state.withLock(\.holds) }

    func discardedEvents() async throws(PostgresError) -> [DiscardedEvent] { state.withLock(\.discardedEvents) }
}

extension MemoryStore.State {
    /// Throws if one of the users is damaged, as a server does on an invalid page.
    func read(_ users: [UserID]) throws(PostgresError) {
        guard damaged.isDisjoint(with: users) else { throw Self.brokenPage }
    }

    static var brokenPage: PostgresError {
        let state = SQLState(known: "XX001")
        return PostgresError(.server(state), "invalid page", sqlState: state)
    }
}

extension Timestamp {
    static func + (time: Timestamp, span: Duration) -> Timestamp {
        Timestamp(clamping: time.microseconds + span.microseconds)
    }

    static func - (time: Timestamp, span: Duration) -> Timestamp { time + (.zero - span) }
}
