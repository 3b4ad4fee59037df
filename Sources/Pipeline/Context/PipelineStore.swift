package import BellhopRules
package import Postgres
package import Store

/// A batch's view of the database, with one method for each step that accesses it.
package protocol PipelineStore: Sendable {
    // Users and messages.
    func recipients(of keys: Set<UserKey>) async throws(PostgresError) -> [UserKey: Recipient]
    /// Returns the numbers of unread notifications that devices show.
    func unread(
        of people: [UserKey],
        leavingOut types: [AppID: [EventType]]
    ) async throws(PostgresError) -> [UserKey: Int]
    /// Returns the users' follows of topics, if they exist.
    func follows(_ keys: Set<FollowKey>) async throws(PostgresError) -> [FollowKey: StoredFollow]
    /// Returns recent pushes to users' devices, for the policies that require them.
    func recentPushes(
        _ questions: [RecentPushQuestion]
    ) async throws(PostgresError) -> [DecisionFacts.RecentPushes]
    /// Runs the recording statement without a record.
    func rehearse() async throws(PostgresError)
    func record(_ records: [InboxRecord], as claim: Claim) async throws(PostgresError) -> [Inbox.Outcome]
    func keep(_ plans: [PlannedEvent]) async throws(PostgresError) -> [EventStore.Outcome]
    func cancel(_ cancellations: [EventCancellation]) async throws(PostgresError) -> [Void]
    func apply(_ feeds: [FeedEntry]) async throws(PostgresError) -> [Void]
    func report(_ reports: [ReplayReportStore.Report]) async throws(PostgresError)

    // Events for a wide audience.
    func open(_ plans: [PlannedEvent]) async throws(PostgresError) -> [[FanoutPage]]
    func take(_ page: FanoutPage, as claim: Claim, redelivered: Bool) async throws(PostgresError) -> PageClaimResult
    func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(PostgresError)
    func untaken(of fanout: Int64) async throws(PostgresError) -> [FanoutPage]
    func audience(of page: ClaimedPage) async throws(PostgresError) -> [FanoutStore.AudienceMember]
    func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(PostgresError) -> [FanoutPage]
    func pause(_ page: FanoutPage, because trouble: String) async throws(PostgresError)
    func giveBack(_ pages: [FanoutPage]) async throws(PostgresError)

    // Open deliveries.
    func claim(_ keys: [NotificationKey], as claim: Claim) async throws(PostgresError) -> Ledger.ClaimResult
    func notifications(
        _ keys: [NotificationKey]
    ) async throws(PostgresError) -> [NotificationKey: StoredNotification]
    func claimReceipts(_ keys: [DeliveryKey], as claim: Claim) async throws(PostgresError) -> [OpenReceipt]
    func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int
    func leaveToSweeper(_ keys: [NotificationKey]) async throws(PostgresError) -> Set<NotificationKey>

    // Deliveries that wait for their outlet.
    func heads(_ looks: [BacklogStore.Look]) async throws(PostgresError) -> BacklogStore.OldestEntries
    func pull(
        _ look: BacklogStore.Look,
        atMost count: Int,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> BacklogStore.PullResult
    func scout(
        _ look: BacklogStore.Look,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> BacklogStore.PullResult
    func head(
        _ look: BacklogStore.Look,
        atMost count: Int,
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead
    func regain(_ backlog: BacklogKey, as claim: Claim) async throws(PostgresError) -> BacklogStore.PullResult
    func backlogNames() async throws(PostgresError) -> [String]
    func release(_ backlog: String, atMost limit: Int, after age: Duration) async throws(PostgresError) -> Int

    // Devices' states that result from sends.
    func revoke(_ devices: [DeadDevice]) async throws(PostgresError) -> Int
    func note(_ devices: [ReachedDevice]) async throws(PostgresError) -> Int
}

/// The state of providers that all workers share.
package protocol OutletStore: Sendable {
    func draw(_ draw: BudgetStore.BudgetRequest) async throws(PostgresError) -> Int

    /// The time from a breaker's opening to its first probe.
    var firstPause: Duration { get }
    func openBreakers() async throws(PostgresError) -> [OpenBreaker]
    func open(_ key: BreakerKey, reason: String) async throws(PostgresError)
    func reopen(_ key: BreakerKey, reason: String, isTelling: Bool) async throws(PostgresError)
    func close(_ key: BreakerKey) async throws(PostgresError) -> Bool
    func knock(_ key: BreakerKey) async throws(PostgresError) -> BreakerStore.ProbeClaim
    func giveBackProbe(of key: BreakerKey) async throws(PostgresError)

    func platformsReached(of app: AppID, by provider: String) async throws(PostgresError) -> Set<DevicePlatform>
    func holds() async throws(PostgresError) -> [OperatorHold]
    func deathsSince(_ key: BreakerKey) async throws(PostgresError) -> Timestamp?
    func takeBack(_ key: BreakerKey, since: Timestamp) async throws(PostgresError) -> Int
}
