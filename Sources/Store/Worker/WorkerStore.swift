package import BellhopRules

/// The PostgreSQL implementation: each step calls the part of Store that contains its statement.
package struct WorkerStore: WorkerDatabase, OutletStore {
    private let inbox: Inbox
    private let ledger: Ledger
    private let backlogs: BacklogStore
    private let receipts: ReceiptStore
    private let directory: RecipientStore
    private let follows: FollowStore
    private let recent: RecentPushStore
    private let plans: EventStore
    private let fanouts: FanoutStore
    private let feeds: FeedStore
    private let reports: ReplayReportStore
    private let revocations: RevocationStore
    private let reached: ReachedDeviceStore
    private let breakers: BreakerStore
    private let budgets: BudgetStore
    private let brakes: HoldStore

    /// Creates a store.
    ///
    /// `lease` is the period for which a claim is valid, `firstPause` a breaker's first pause, and `usersPerPage` the
    /// size of a fan-out's pages.
    package init(
        pool: ConnectionPool,
        lease: Duration,
        firstPause: Duration = .seconds(10),
        usersPerPage: Int = FanoutStore.usualPage
    ) {
        inbox = Inbox(pool: pool)
        ledger = Ledger(pool: pool, lease: lease)
        backlogs = BacklogStore(pool: pool, lease: lease)
        receipts = ReceiptStore(pool: pool)
        directory = RecipientStore(pool: pool)
        follows = FollowStore(pool: pool)
        recent = RecentPushStore(pool: pool)
        plans = EventStore(pool: pool)
        fanouts = FanoutStore(pool: pool, usersPerPage: usersPerPage)
        feeds = FeedStore(pool: pool)
        reports = ReplayReportStore(pool: pool)
        revocations = RevocationStore(pool: pool)
        reached = ReachedDeviceStore(pool: pool)
        breakers = BreakerStore(pool: pool, firstPause: firstPause)
        budgets = BudgetStore(pool: pool)
        brakes = HoldStore(pool: pool)
    }

    package func recipients(
        of keys: Set<UserKey>
    ) async throws(StoreError) -> [UserKey: Recipient] {
        try await directory.recipients(of: keys)
    }

    package func unread(
        of people: [UserKey],
        leavingOut types: [AppID: [EventType]]
    ) async throws(StoreError) -> [UserKey: Int] {
        try await inbox.unread(of: people, leavingOut: types)
    }

    package func follows(_ keys: Set<FollowKey>) async throws(StoreError) -> [FollowKey: StoredFollow] {
        try await follows.follows(keys)
    }

    package func recentPushes(
        _ questions: [RecentPushQuestion]
    ) async throws(StoreError) -> [DecisionFacts.RecentPushes] {
        try await recent.answers(to: questions)
    }

    package func rehearse() async throws(StoreError) {
        try await inbox.rehearse()
    }

    package func record(
        _ records: [InboxRecord],
        as claim: Claim
    ) async throws(StoreError) -> [Inbox.Outcome] {
        try await inbox.record(records, as: claim)
    }

    package func keep(_ plans: [PlannedEvent]) async throws(StoreError) -> [EventStore.Outcome] {
        try await self.plans.keep(plans)
    }

    package func cancel(_ cancellations: [EventCancellation]) async throws(StoreError) -> [Void] {
        try await plans.cancel(cancellations)
    }

    package func open(_ plans: [PlannedEvent]) async throws(StoreError) -> [[FanoutPage]] {
        try await fanouts.open(plans)
    }

    package func take(
        _ page: FanoutPage,
        as claim: Claim,
        redelivered: Bool
    ) async throws(StoreError) -> PageClaimResult {
        try await fanouts.take(page, as: claim, redelivered: redelivered)
    }

    package func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(StoreError) {
        try await fanouts.putBack(page, takenAs: claim)
    }

    package func untaken(of fanout: Int64) async throws(StoreError) -> [FanoutPage] {
        try await fanouts.untaken(of: fanout)
    }

    package func audience(of page: ClaimedPage) async throws(StoreError) -> [FanoutStore.AudienceMember] {
        try await fanouts.audience(of: page)
    }

    package func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(StoreError) -> [FanoutPage] {
        try await fanouts.finish(page, tally)
    }

    package func pause(_ page: FanoutPage, because trouble: String) async throws(StoreError) {
        try await fanouts.pause(page, because: trouble)
    }

    package func giveBack(_ pages: [FanoutPage]) async throws(StoreError) {
        try await fanouts.giveBack(pages)
    }

    package func apply(_ feeds: [FeedEntry]) async throws(StoreError) -> [Void] {
        try await self.feeds.apply(feeds)
    }

    package func report(_ reports: [ReplayReportStore.Report]) async throws(StoreError) {
        try await self.reports.settle(reports)
    }

    package func claim(
        _ keys: [NotificationKey],
        as claim: Claim
    ) async throws(StoreError) -> Ledger.ClaimResult {
        try await ledger.claim(keys, as: claim)
    }

    package func notifications(
        _ keys: [NotificationKey]
    ) async throws(StoreError) -> [NotificationKey: StoredNotification] {
        try await inbox.notifications(keys)
    }

    package func claimReceipts(
        _ keys: [DeliveryKey],
        as claim: Claim
    ) async throws(StoreError) -> [OpenReceipt] {
        try await receipts.claim(keys, as: claim)
    }

    package func settle(_ settlements: [Settlement], of claim: Claim) async throws(StoreError) -> Int {
        try await ledger.settle(settlements, of: claim)
    }

    package func leaveToSweeper(_ keys: [NotificationKey]) async throws(StoreError) -> Set<NotificationKey> {
        try await ledger.leaveToSweeper(keys)
    }

    package func heads(_ looks: [BacklogStore.Look]) async throws(StoreError) -> BacklogStore.OldestEntries {
        try await backlogs.heads(looks)
    }

    package func pull(
        _ look: BacklogStore.Look,
        atMost count: Int,
        as claim: Claim,
        of users: UserFilter
    ) async throws(StoreError) -> BacklogStore.PullResult {
        try await backlogs.pull(look, atMost: count, as: claim, of: users)
    }

    package func scout(
        _ look: BacklogStore.Look,
        as claim: Claim,
        of users: UserFilter
    ) async throws(StoreError) -> BacklogStore.PullResult {
        try await backlogs.scout(look, as: claim, of: users)
    }

    package func head(
        _ look: BacklogStore.Look,
        atMost count: Int,
        of users: UserFilter
    ) async throws(StoreError) -> QueueHead {
        try await backlogs.head(look, atMost: count, of: users)
    }

    package func regain(
        _ backlog: BacklogKey,
        as claim: Claim
    ) async throws(StoreError) -> BacklogStore.PullResult {
        try await backlogs.regain(backlog, as: claim)
    }

    package func backlogNames() async throws(StoreError) -> [String] {
        try await backlogs.names()
    }

    package func release(
        _ backlog: String,
        atMost limit: Int,
        after age: Duration
    ) async throws(StoreError) -> Int {
        try await backlogs.release(backlog, atMost: limit, after: age)
    }

    package func revoke(_ devices: [DeadDevice]) async throws(StoreError) -> Int {
        try await revocations.revoke(devices)
    }

    package func note(_ devices: [ReachedDevice]) async throws(StoreError) -> Int {
        try await reached.note(devices)
    }

    // MARK: - Providers

    package func draw(_ draw: BudgetStore.BudgetRequest) async throws(StoreError) -> Int {
        try await budgets.draw(draw)
    }

    package var firstPause: Duration { breakers.firstPause }

    package func openBreakers() async throws(StoreError) -> [OpenBreaker] {
        try await breakers.all()
    }

    package func open(_ key: BreakerKey, reason: String) async throws(StoreError) {
        try await breakers.open(key, reason: reason)
    }

    package func reopen(_ key: BreakerKey, reason: String, isTelling: Bool) async throws(StoreError) {
        try await breakers.reopen(key, reason: reason, isTelling: isTelling)
    }

    package func close(_ key: BreakerKey) async throws(StoreError) -> Bool {
        try await breakers.close(key)
    }

    package func giveBackProbe(of key: BreakerKey) async throws(StoreError) {
        try await breakers.giveBackProbe(of: key)
    }

    package func knock(_ key: BreakerKey) async throws(StoreError) -> BreakerStore.ProbeClaim {
        try await breakers.knock(key)
    }

    package func platformsReached(
        of app: AppID,
        by provider: String
    ) async throws(StoreError) -> Set<DevicePlatform> {
        try await reached.platforms(app: app, provider: provider)
    }

    package func holds() async throws(StoreError) -> [OperatorHold] {
        try await brakes.all()
    }

    package func deathsSince(_ key: BreakerKey) async throws(StoreError) -> Timestamp? {
        try await breakers.deathsSince(key)
    }

    package func takeBack(_ key: BreakerKey, since: Timestamp) async throws(StoreError) -> Int {
        try await revocations.takeBack(app: key.app, provider: key.provider, since: since)
    }
}
