import BellhopRules
import Store

/// The recent pushes to users' devices.
///
/// It is updated while a batch is decided, because the batch's own pushes are not written yet.
struct RecentPushes: Sendable {
    private struct Key: Hashable {
        let recipient: UserKey
        /// The key of the burst policy; `nil` for all pushes of low priority.
        let burst: String?
    }

    private var latest: [Key: Timestamp] = [:]
    private var counts: [Key: Int] = [:]
    /// Whether any policy of the batch requires the data.
    private var isAsked = false

    /// Creates an empty state, because no policy requires the data.
    init() {}

    /// Reads recent pushes for the records whose type or app has a policy that requires them; empty if there is none.
    init(
        of entries: some Collection<Entry<InboxRecord>>,
        by people: [UserKey: Recipient],
        _ catalogs: CatalogSet,
        _ store: any WorkerDatabase
    ) async throws(StoreError) {
        let asking = catalogs.catalogs.filter(\.looksBack).map(\.app)
        guard !asking.isEmpty else { return }
        var questions: [RecentPushQuestion] = []
        var latest: (words: NotificationText, policy: Policy?)?
        for entry in entries where asking.contains(entry.work.app) {
            let record = entry.work
            if latest?.words !== record.words { latest = (record.words, Policy(of: record.words)) }
            guard let policy = latest?.policy, let place = people.index(forKey: record.key.recipient)
            else { continue }
            questions.append(
                RecentPushQuestion(people.keys[place], burst: policy.burst, most: policy.cap?.perHour ?? 0)
            )
        }
        guard !questions.isEmpty else { return }
        isAsked = true
        for (question, answer) in zip(questions, try await store.recentPushes(questions)) {
            if let burst = question.burst {
                self.latest[Key(recipient: question.recipient, burst: burst.key)] = answer.latest
            }
            if question.most > 0 { counts[Key(recipient: question.recipient, burst: nil)] = answer.lowPriority }
        }
    }

    /// Whether a policy of any app requires the data.
    static func areAsked(by catalogs: CatalogSet) -> Bool { catalogs.catalogs.contains(where: \.looksBack) }

    /// Adds the recent pushes of other users.
    static func += (pushes: inout RecentPushes, others: RecentPushes) {
        pushes.latest.merge(others.latest) { first, _ in first }
        pushes.counts.merge(others.counts) { first, _ in first }
        pushes.isAsked = pushes.isAsked || others.isAsked
    }

    func facts(of record: InboxRecord) -> DecisionFacts.RecentPushes {
        guard isAsked, let policy = Policy(of: record.words) else { return DecisionFacts.RecentPushes() }
        let recipient = record.key.recipient
        return DecisionFacts.RecentPushes(
            latest: policy.burst.flatMap { latest[Key(recipient: recipient, burst: $0.key)] },
            lowPriority: counts[Key(recipient: recipient, burst: nil)] ?? 0
        )
    }

    /// Notes the decision about a record.
    mutating func note(_ decision: Decision, of record: InboxRecord, at now: Timestamp) {
        guard isAsked, let policy = Policy(of: record.words) else { return }
        let outcomes = decision.devices.map(\.outcome)
        let recipient = record.key.recipient
        let waits = outcomes.compactMap { outcome -> Timestamp? in
            guard case .wait(let wait) = outcome, wait.reason == .burst else { return nil }
            return wait.until
        }
        let goes = outcomes.contains(.send) ? now : waits.max()
        if let burst = policy.burst, let goes { latest[Key(recipient: recipient, burst: burst.key)] = goes }
        if policy.cap != nil, outcomes.contains(.send) {
            counts[Key(recipient: recipient, burst: nil), default: 0] += 1
        }
    }

    /// The policies of a notification's type and app that depend on earlier pushes.
    private struct Policy {
        let burst: (key: String, window: Duration)?
        let cap: PushCap?

        init?(of words: NotificationText) {
            let (content, catalog, type) = (words.content, words.catalog, words.type)
            guard type.burst != nil || catalog.cap != nil else { return nil }
            burst = type.burst.flatMap { policy in
                content.collapseKey.map { ($0, .seconds(policy.window.seconds)) }
            }
            cap = type.priority == .low && !type.isGathered ? catalog.cap : nil
            if burst == nil, cap == nil { return nil }
        }
    }
}

extension Catalog {
    /// Whether a policy of the app depends on earlier pushes.
    fileprivate var looksBack: Bool { cap != nil || types.contains { $0.burst != nil } }
}
