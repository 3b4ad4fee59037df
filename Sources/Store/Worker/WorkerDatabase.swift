package import BellhopRules

/// A batch's view of the database, with one method for each step that accesses it.
package protocol WorkerDatabase: Sendable {
    // Users and messages.
    func recipients(of keys: [UserKey]) async throws(StoreError) -> [UserKey: Recipient]
    /// Returns the numbers of unread notifications that devices show.
    func unread(
        of people: [UserKey],
        leavingOut types: [AppID: [EventType]]
    ) async throws(StoreError) -> [UserKey: Int]
    /// Returns the users' follows of topics, if they exist.
    func follows(_ keys: Set<FollowKey>) async throws(StoreError) -> [FollowKey: StoredFollow]
    /// Returns recent pushes to users' devices, for the policies that require them.
    func recentPushes(
        _ questions: [RecentPushQuestion]
    ) async throws(StoreError) -> [DecisionFacts.RecentPushes]
    /// Runs the recording statement without a record.
    func rehearse() async throws(StoreError)
    func record(_ records: [InboxRecord], as claim: Claim) async throws(StoreError) -> [RecordOutcome]
    func keep(_ plans: [PlannedEvent]) async throws(StoreError) -> [PlanOutcome]
    func cancel(_ cancellations: [EventCancellation]) async throws(StoreError) -> [Void]
    func apply(_ feeds: [FeedEntry]) async throws(StoreError) -> [Void]
    func report(_ reports: [ReplayReport]) async throws(StoreError)

    // Events for a wide audience.
    func open(_ plans: [PlannedEvent]) async throws(StoreError) -> [[FanoutPage]]
    func take(_ page: FanoutPage, as claim: Claim, redelivered: Bool) async throws(StoreError) -> PageClaimResult
    func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(StoreError)
    func untaken(of fanout: Int64) async throws(StoreError) -> [FanoutPage]
    func audience(of page: ClaimedPage) async throws(StoreError) -> [AudienceMember]
    func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(StoreError) -> [FanoutPage]
    func pause(_ page: FanoutPage, because trouble: String) async throws(StoreError)
    func giveBack(_ pages: [FanoutPage]) async throws(StoreError)

    // Open deliveries.
    func claim(_ keys: [NotificationKey], as claim: Claim) async throws(StoreError) -> ClaimResult
    func notifications(
        _ keys: [NotificationKey]
    ) async throws(StoreError) -> [NotificationKey: StoredNotification]
    func claimReceipts(_ keys: [DeliveryKey], as claim: Claim) async throws(StoreError) -> [OpenReceipt]
    func settle(_ settlements: [Settlement], of claim: Claim) async throws(StoreError) -> Int
    func leaveToSweeper(_ keys: [NotificationKey]) async throws(StoreError) -> Set<NotificationKey>
    /// Releases deliveries that wait for the end of a pause which their users have shortened meanwhile.
    func releasePaused(of people: [UserKey]) async throws(StoreError) -> Int

    // Deliveries that wait for their outlet.
    func heads(_ looks: [BacklogPoll]) async throws(StoreError) -> OldestEntries
    func pull(
        _ look: BacklogPoll,
        atMost count: Int,
        as claim: Claim,
        of users: UserFilter
    ) async throws(StoreError) -> PullResult
    func scout(
        _ look: BacklogPoll,
        as claim: Claim,
        of users: UserFilter
    ) async throws(StoreError) -> PullResult
    func head(
        _ look: BacklogPoll,
        atMost count: Int,
        of users: UserFilter
    ) async throws(StoreError) -> QueueHead
    func regain(_ backlog: BacklogKey, as claim: Claim) async throws(StoreError) -> PullResult
    func backlogNames() async throws(StoreError) -> [String]
    func release(_ backlog: String, atMost limit: Int, after age: Duration) async throws(StoreError) -> Int

    // Devices' states that result from sends.
    func revoke(_ devices: [DeadDevice]) async throws(StoreError) -> Int
    func note(_ devices: [ReachedDevice]) async throws(StoreError) -> Int
}

/// The state of providers that all workers share.
package protocol OutletStore: Sendable {
    func draw(_ draw: BudgetRequest) async throws(StoreError) -> Int

    /// The time from a breaker's opening to its first probe.
    var firstPause: Duration { get }
    func openBreakers() async throws(StoreError) -> [OpenBreaker]
    func open(_ key: BreakerKey, reason: String) async throws(StoreError)
    func reopen(_ key: BreakerKey, reason: String, isTelling: Bool) async throws(StoreError)
    func close(_ key: BreakerKey) async throws(StoreError) -> Bool
    func knock(_ key: BreakerKey) async throws(StoreError) -> ProbeClaim
    func giveBackProbe(of key: BreakerKey) async throws(StoreError)

    /// Returns the parts of outlets, each with one platform, that have reached devices.
    func platformsReached() async throws(StoreError) -> Set<OutletScope>
    func holds() async throws(StoreError) -> [OperatorHold]
    func discardedEvents() async throws(StoreError) -> [DiscardedEvent]
    func deathsSince(_ key: BreakerKey) async throws(StoreError) -> Timestamp?
    func takeBack(_ key: BreakerKey, since: Timestamp) async throws(StoreError) -> Int
}

extension WorkerStore: WorkerDatabase, OutletStore {
    package func takeBack(_ key: BreakerKey, since: Timestamp) async throws(StoreError) -> Int {
        try await takeBack(key, since: since, pageSize: 500)
    }
}
