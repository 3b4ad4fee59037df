import BellhopRules

@testable import Pipeline
@testable import Postgres
@testable import Store

/// Stored events, and the fan-outs of those with a wide audience.
extension MemoryStore {
    /// A fan-out, with its planned and unfinished pages.
    struct Fanout {
        let number: Int64
        let plan: PlannedEvent
        let startedAt: Timestamp
        var state = FanoutState.running
        var planned: Int64 = 0
        var plannedTo = ""
        var isPlanned = false
        var pages: [Int64: Page] = [:]

        struct Page {
            let after: String
            let upto: String
            var takenAt: Timestamp?
            var claim: Claim?
            /// The number of takes by further batches because the message was redelivered.
            var takes = 0
        }
    }

    func keep(_ plans: [PlannedEvent]) async throws(PostgresError) -> [PlanOutcome] {
        try answering { state in plans.map { state.keep($0) } }
    }

    func cancel(_ cancellations: [EventCancellation]) async throws(PostgresError) -> [Void] {
        try answering { state in
            for one in cancellations {
                let key = EventKey(app: one.app, id: one.event)
                guard !state.fanouts.contains(where: { $0.plan.key == key }) else { continue }
                state.cancelled.insert(key)
            }
            return cancellations.map { _ in () }
        }
    }

    func open(_ plans: [PlannedEvent]) async throws(PostgresError) -> [[FanoutPage]] {
        let now = clock
        return try answering { state in
            var fresh: Set<EventKey> = []
            return plans.map { plan in
                guard let fanout = state.fanouts.first(where: { $0.plan.key == plan.key }) else {
                    fresh.insert(plan.key)
                    return state.begin(plan, now, usersPerPage)
                }
                return fresh.contains(plan.key) ? [] : fanout.untaken
            }
        }
    }

    func take(
        _ page: FanoutPage,
        as claim: Claim,
        redelivered: Bool
    ) async throws(PostgresError) -> PageClaimResult {
        let now = clock
        return try answering { state in
            if let only = state.page { return .open(only) }
            guard let place = state.fanouts.firstIndex(where: { $0.number == page.fanout }) else { return .over }
            guard state.fanouts[place].state == .running else {
                if state.fanouts[place].state != .paused { state.fanouts[place].pages[page.page] = nil }
                return .over
            }
            guard var taken = state.fanouts[place].pages[page.page] else { return .over }
            let wasTaken = taken.takenAt != nil
            let isLost = taken.takenAt.map { $0 < now - .seconds(300) } ?? true
            guard isLost || redelivered || taken.claim == claim else { return .over }
            taken.takes += redelivered && taken.claim != claim ? 1 : 0
            taken.takenAt = now
            taken.claim = claim
            state.fanouts[place].pages[page.page] = taken
            guard taken.takes <= 20 else {
                state.fanouts[place].pause(page)
                return .over
            }
            var further = state.topUp(place, usersPerPage)
            if wasTaken { further += state.fanouts[place].untaken }
            return .open(state.fanouts[place].claimed(taken, further: Array(Set(further))))
        }
    }

    func putBack(_ page: FanoutPage, takenAs claim: Claim) async throws(PostgresError) {
        try answering { state in
            state.change(page) { fanout in
                guard fanout.pages[page.page]?.claim == claim else { return }
                fanout.pages[page.page]?.takenAt = nil
                fanout.pages[page.page]?.takes = 0
            }
        }
    }

    func untaken(of fanout: Int64) async throws(PostgresError) -> [FanoutPage] {
        try answering { state in state.fanouts.first { $0.number == fanout }?.untaken ?? [] }
    }

    func audience(of page: ClaimedPage) async throws(PostgresError) -> [AudienceMember] {
        try answering { state in
            guard state.page == nil else {
                return state.people.map { AudienceMember(key: $0, recipient: $1, follow: nil) }
            }
            let topic = page.range.topic.flatMap(Topic.init(validating:))
            return state.audience(page.app, topic).filter { member in
                member.since.microseconds <= page.range.snapshot && member.key.user.text > page.range.after
                    && member.key.user.text <= page.range.upto
            }.map { member in
                AudienceMember(
                    key: member.key,
                    recipient: state.people[member.key] ?? Recipient(),
                    follow: topic.flatMap { state.follows[FollowKey(member.key, $0)] }
                )
            }
        }
    }

    func finish(_ page: FanoutPage, _ tally: PageCounts) async throws(PostgresError) -> [FanoutPage] {
        try answering { state in
            guard let place = state.fanouts.firstIndex(where: { $0.number == page.fanout }) else { return [] }
            guard state.fanouts[place].pages.removeValue(forKey: page.page) != nil else {
                return state.fanouts[place].untaken
            }
            let next = state.topUp(place, usersPerPage)
            if state.fanouts[place].isPlanned, state.fanouts[place].pages.isEmpty {
                state.fanouts[place].state = .finished
            }
            return next
        }
    }

    func pause(_ page: FanoutPage, because trouble: String) async throws(PostgresError) {
        try answering { state in
            state.change(page) { fanout in
                if fanout.state == .running || fanout.state == .paused { fanout.pause(page) }
            }
        }
    }

    func giveBack(_ pages: [FanoutPage]) async throws(PostgresError) {
        try answering { (state) throws(PostgresError) in
            guard !state.keepsPages else { throw State.brokenPage }
        }
    }
}

extension MemoryStore.Fanout {
    /// The pages that no batch has taken, of a running fan-out.
    fileprivate var untaken: [FanoutPage] {
        guard state == .running else { return [] }
        return pages.filter { $1.takenAt == nil }.keys.sorted().map { page($0) }
    }

    fileprivate func page(_ number: Int64) -> FanoutPage {
        FanoutPage(fanout: self.number, page: number, priority: plan.priority)
    }

    fileprivate mutating func pause(_ page: FanoutPage) {
        state = .paused
        pages[page.page]?.takenAt = nil
    }

    fileprivate func claimed(_ page: Page, further: [FanoutPage]) -> ClaimedPage {
        ClaimedPage(
            app: plan.event.app,
            content: Array(plan.body.utf8),
            contentHash: plan.contentHash,
            further: further,
            age: .zero,
            range: ClaimedPage.Range(
                app: plan.event.app,
                topic: plan.event.audience.topic?.text,
                snapshot: startedAt.microseconds,
                after: page.after,
                upto: page.upto
            )
        )
    }
}

extension MemoryStore.State {
    fileprivate mutating func keep(_ plan: PlannedEvent) -> PlanOutcome {
        if let known = plans[plan.key] {
            let isSame = known.contentHash.bytes == plan.contentHash.bytes && known.isFor(plan.event.audience)
            return cancelled.contains(plan.key) ? .cancelled : isSame ? .duplicate : .conflict
        }
        guard !cancelled.contains(plan.key) else { return .cancelled }
        if case .users(let users) = plan.event.audience {
            let app = plan.event.app
            let isGone = users.allSatisfy { user in
                tombstones[UserKey(app: app, user: user)].map { $0.returnedAt == nil } ?? false
            }
            guard !isGone else { return .cancelled }
        }
        plans[plan.key] = plan
        return .kept
    }

    fileprivate mutating func begin(_ plan: PlannedEvent, _ now: Timestamp, _ usersPerPage: Int) -> [FanoutPage] {
        guard plans[plan.key] != nil, !cancelled.contains(plan.key) else { return [] }
        fanouts.append(MemoryStore.Fanout(number: Int64(fanouts.count + 1), plan: plan, startedAt: now))
        return topUp(fanouts.count - 1, usersPerPage, open: 1)
    }

    /// Plans pages until as many are open as may be.
    fileprivate mutating func topUp(
        _ place: Int,
        _ usersPerPage: Int,
        open most: Int = LockedFanout.pagesAtOnce
    ) -> [FanoutPage] {
        var fanout = fanouts[place]
        let event = fanout.plan.event
        let users = audience(event.app, event.audience.topic).map(\.key.user.text)
        var next: [FanoutPage] = []
        while !fanout.isPlanned, fanout.pages.count < most, fanout.state == .running || fanout.state == .paused {
            let rest = users.filter { $0 > fanout.plannedTo }
            let isFull = rest.count >= usersPerPage
            let upto = isFull ? rest[usersPerPage - 1] : rest.last ?? fanout.plannedTo
            fanout.pages[fanout.planned] = MemoryStore.Fanout.Page(after: fanout.plannedTo, upto: upto)
            if fanout.state == .running { next.append(fanout.page(fanout.planned)) }
            fanout.planned += 1
            fanout.plannedTo = upto
            fanout.isPlanned = !isFull
        }
        fanouts[place] = fanout
        return next
    }

    /// Returns the followers of a topic, or all users of an app, in the order of their ids.
    fileprivate func audience(_ app: AppID, _ topic: Topic?) -> [(key: UserKey, since: Timestamp)] {
        let all: [(key: UserKey, since: Timestamp)] =
            if let topic {
                followedSince.filter { $0.key.topic == topic }.map { ($0.key.recipient, $0.value) }
            } else {
                people.keys.map { ($0, knownSince[$0] ?? Timestamp(clamping: 0)) }
            }
        return all.filter { $0.key.app == app }.sorted { $0.key.user.text < $1.key.user.text }
    }

    fileprivate mutating func change(_ page: FanoutPage, _ change: (inout MemoryStore.Fanout) -> Void) {
        guard let place = fanouts.firstIndex(where: { $0.number == page.fanout }) else { return }
        change(&fanouts[place])
    }
}

extension PlannedEvent {
    fileprivate var key: MemoryStore.EventKey { MemoryStore.EventKey(app: event.app, id: event.id) }

    /// Whether the event has this audience; users may have been erased from named ones.
    fileprivate func isFor(_ audience: Audience) -> Bool {
        switch (event.audience, audience) {
        case (.users, .users), (.everyone, .everyone): true
        case (.topic(let one), .topic(let other)): one == other
        default: false
        }
    }
}
