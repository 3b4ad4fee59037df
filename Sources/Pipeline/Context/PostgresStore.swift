package import BellhopRules
package import Postgres
package import Store

/// The PostgreSQL implementation: each step calls the part of Store that contains its statement.
package struct PostgresStore: PipelineStore, OutletStore {
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
        pool: PostgresPool,
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
    ) async throws(PostgresError) -> [UserKey: Recipient] {
        try await directory.recipients(of: keys)
    }

    package func unread(
        of people: [UserKey],
        leavingOut types: [AppID: [EventType]]
    ) async throws(PostgresError) -> [UserKey: Int] {
        try await inbox.unread(of: people, leavingOut: types)
    }

    package func follows(_ keys: Set<FollowKey>) async throws(PostgresError) -> [FollowKey: StoredFollow] {
        try await follows.follows(keys)
    }

    package func recentPushes(
        _ questions: [RecentPushQuestion]
    ) async throws(PostgresError) -> [DecisionFacts.RecentPushes] {
        try await recent.answers(to: questions)
    }

    package func rehearse() async throws(PostgresError) {
        try await inbox.rehearse()
    }

    package func record(
        _ records: [InboxRecord],
        as claim: Claim
    ) async throws(PostgresError) -> [Inbox.Outcome] {
        try await inbox.record(records, as: claim)
    }

    package func keep(_ plans: [PlannedEvent]) async throws(PostgresError) -> [EventStore.Outcome] {
        try await self.plans.keep(plans)
    }

    package func cancel(_ cancellations: [EventCancellation]) async throws(PostgresError) -> [Void] {
        try await plans.cancel(cancellations)
    }

    package func open(_ plans: [PlannedEvent]) async throws(PostgresError) -> [[FanoutPage]] {
        try await fanouts.open(plans)
    }

    package func take(
        _ page: FanoutPage,
        as claim: Claim,
        redelivered: Bool
    ) async throws(PostgresError) -> PageClaimResult {
        try await fanouts.take(page, as: claim, redelivered: redelivered)
    }

    package func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(PostgresError) {
        try await fanouts.putBack(page, takenAs: claim)
    }

    package func untaken(of fanout: Int64) async throws(PostgresError) -> [FanoutPage] {
        try await fanouts.untaken(of: fanout)
    }

    package func audience(of page: ClaimedPage) async throws(PostgresError) -> [FanoutStore.AudienceMember] {
        try await fanouts.audience(of: page)
    }

    package func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(PostgresError) -> [FanoutPage] {
        try await fanouts.finish(page, tally)
    }

    package func pause(_ page: FanoutPage, because trouble: String) async throws(PostgresError) {
        try await fanouts.pause(page, because: trouble)
    }

    package func giveBack(_ pages: [FanoutPage]) async throws(PostgresError) {
        try await fanouts.giveBack(pages)
    }

    package func apply(_ feeds: [FeedEntry]) async throws(PostgresError) -> [Void] {
        try await self.feeds.apply(feeds)
    }

    package func report(_ reports: [ReplayReportStore.Report]) async throws(PostgresError) {
        try await self.reports.settle(reports)
    }

    package func claim(
        _ keys: [NotificationKey],
        as claim: Claim
    ) async throws(PostgresError) -> Ledger.ClaimResult {
        try await ledger.claim(keys, as: claim)
    }

    package func notifications(
        _ keys: [NotificationKey]
    ) async throws(PostgresError) -> [NotificationKey: StoredNotification] {
        try await inbox.notifications(keys)
    }

    package func claimReceipts(
        _ keys: [DeliveryKey],
        as claim: Claim
    ) async throws(PostgresError) -> [OpenReceipt] {
        try await receipts.claim(keys, as: claim)
    }

    package func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int {
        try await ledger.settle(settlements, of: claim)
    }

    package func leaveToSweeper(_ keys: [NotificationKey]) async throws(PostgresError) -> Set<NotificationKey> {
        try await ledger.leaveToSweeper(keys)
    }

    package func heads(_ looks: [BacklogStore.Look]) async throws(PostgresError) -> BacklogStore.OldestEntries {
        try await backlogs.heads(looks)
    }

    package func pull(
        _ look: BacklogStore.Look,
        atMost count: Int,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> BacklogStore.PullResult {
        try await backlogs.pull(look, atMost: count, as: claim, of: users)
    }

    package func scout(
        _ look: BacklogStore.Look,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> BacklogStore.PullResult {
        try await backlogs.scout(look, as: claim, of: users)
    }

    package func head(
        _ look: BacklogStore.Look,
        atMost count: Int,
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead {
        try await backlogs.head(look, atMost: count, of: users)
    }

    package func regain(
        _ backlog: BacklogKey,
        as claim: Claim
    ) async throws(PostgresError) -> BacklogStore.PullResult {
        try await backlogs.regain(backlog, as: claim)
    }

    package func backlogNames() async throws(PostgresError) -> [String] {
        try await backlogs.names()
    }

    package func release(
        _ backlog: String,
        atMost limit: Int,
        after age: Duration
    ) async throws(PostgresError) -> Int {
        try await backlogs.release(backlog, atMost: limit, after: age)
    }

    package func revoke(_ devices: [DeadDevice]) async throws(PostgresError) -> Int {
        try await revocations.revoke(devices)
    }

    package func note(_ devices: [ReachedDevice]) async throws(PostgresError) -> Int {
        try await reached.note(devices)
    }

    // MARK: - Providers

    package func draw(_ draw: BudgetStore.BudgetRequest) async throws(PostgresError) -> Int {
        try await budgets.draw(draw)
    }

    package var firstPause: Duration { breakers.firstPause }

    package func openBreakers() async throws(PostgresError) -> [OpenBreaker] {
        try await breakers.all()
    }

    package func open(_ key: BreakerKey, reason: String) async throws(PostgresError) {
        try await breakers.open(key, reason: reason)
    }

    package func reopen(_ key: BreakerKey, reason: String, isTelling: Bool) async throws(PostgresError) {
        try await breakers.reopen(key, reason: reason, isTelling: isTelling)
    }

    package func close(_ key: BreakerKey) async throws(PostgresError) -> Bool {
        try await breakers.close(key)
    }

    package func giveBackProbe(of key: BreakerKey) async throws(PostgresError) {
        try await breakers.giveBackProbe(of: key)
    }

    package func knock(_ key: BreakerKey) async throws(PostgresError) -> BreakerStore.ProbeClaim {
        try await breakers.knock(key)
    }

    package func platformsReached(
        of app: AppID,
        by provider: String
    ) async throws(PostgresError) -> Set<DevicePlatform> {
        try await reached.platforms(app: app, provider: provider)
    }

    package func holds() async throws(PostgresError) -> [OperatorHold] {
        try await brakes.all()
    }

    package func deathsSince(_ key: BreakerKey) async throws(PostgresError) -> Timestamp? {
        try await breakers.deathsSince(key)
    }

    package func takeBack(_ key: BreakerKey, since: Timestamp) async throws(PostgresError) -> Int {
        try await revocations.takeBack(app: key.app, provider: key.provider, since: since)
    }
}
