import BellhopRules
import ServiceRuntime
import Store
import Synchronization

/// A worker's view of its outlets' backlogs: the deliveries that it added itself, and the results of its last poll.
///
/// If a backlog is known to have waited for longer than the grace period, new deliveries join its end and do not
/// overtake it. A delivery that is more urgent than all waiting ones is sent immediately.
///
/// Thread safety: all state is behind one lock; the bell fires outside of it.
final class Backlogs: Sendable {
    fileprivate struct State {
        var standing: [BacklogKey: Set<Priority>] = [:]
        /// The turn up to which nothing waits, if known, on the database's clock.
        var marks: [BacklogPlace: Timestamp] = [:]
        /// The last reading of that clock, and the local instant of the reading.
        var clock: (said: Timestamp, at: ContinuousClock.Instant)?
        /// The oldest turn that was added since a poll began.
        var floors: [BacklogPlace: Timestamp] = [:]
        /// The number of additions.
        ///
        /// A poll that began before an addition provides no information about it.
        var writes: [BacklogPlace: Int] = [:]
        /// The backlogs that are served now, and the ends of other backlogs' pauses.
        var serving: Set<BacklogKey> = []
        var rests: [BacklogKey: ContinuousClock.Instant] = [:]
        /// Backlogs that begin with small pulls, because they were blocked.
        var gentle: Set<BacklogKey> = []
        /// The number of pulled deliveries since the last `takePulls`.
        var pulls: [BacklogKey: Int] = [:]
        /// Fires when the state changes; each bell fires once.
        var bell = DrainSignal()
    }

    private let state = Mutex(State())
    private let time: any TimeSource

    init(time: any TimeSource = SystemTime()) {
        self.time = time
    }

    /// The age at which a waiting delivery makes new ones join the backlog behind it.
    ///
    /// Two messages may change places by this much. With a grace of zero, a short stall would send all later deliveries
    /// through the backlog until no more arrived.
    private static let grace = Duration.seconds(2)

    /// The margin below the last mark at which a poll begins, for deliveries that are added later with an older turn.
    ///
    /// A delivery can be older still if its provider took long to reject it. Such deliveries are found by a poll from
    /// the beginning, unless this worker added them itself.
    static let slack = Duration.seconds(5)

    // MARK: - Sending

    /// Returns the backlog that a shipment must join: that of its platform, of its type or of its whole outlet, if
    /// deliveries of equal or higher urgency wait there.
    func ahead(of shipment: OutgoingDelivery, in lane: Lane, _ outlet: OutletKey) -> BacklogKey? {
        guard let priority = shipment.priority(in: lane) else { return nil }
        return state.withLock { state in
            guard !state.standing.isEmpty else { return nil }
            let now = state.clock.map { $0.said.microseconds + (time.steady() - $0.at).microseconds }
            var keys = [BacklogKey(outlet, type: shipment.ownType), BacklogKey(outlet)]
            if let platform = shipment.platform { keys.insert(BacklogKey(outlet, platform: platform), at: 0) }
            return keys.first { key in
                state.standing[key]?.contains { other in
                    guard other.urgency <= priority.urgency else { return false }
                    guard let now, let oldest = state.marks[BacklogPlace(key, other)] else { return true }
                    return now - oldest.microseconds > Self.grace.microseconds
                } ?? false
            }
        }
    }

    /// Notes that deliveries were added to backlogs.
    func note(_ entries: [BacklogEntry]) {
        guard !entries.isEmpty else { return }
        state.withLock { state in
            for entry in Set(entries) {
                state.writes[entry.place, default: 0] += 1
                state.standing[entry.place.key, default: []].insert(entry.place.priority)
                guard let turn = entry.queuedAt else { continue }
                state.floors[entry.place] = min(turn, state.floors[entry.place] ?? turn)
                if let mark = state.marks[entry.place] { state.marks[entry.place] = min(turn, mark) }
            }
        }
        ring()
    }

    // MARK: - Polling and pulling

    /// A poll that is about to run, with the state that guards against outdated results.
    struct Poll: Sendable {
        let look: BacklogPoll
        fileprivate let writes: Int
        /// The mark at that time.
        ///
        /// If it is lower later, an older delivery was added meanwhile.
        fileprivate let mark: Timestamp?
    }

    /// Prepares a poll of a place, either from the mark of the last poll or from the beginning.
    func glance(at place: BacklogPlace, isWhole: Bool = false) -> Poll {
        state.withLock { state in
            state.floors[place] = nil
            let mark = state.marks[place]
            let since = isWhole ? nil : mark.map { Timestamp(clamping: $0.microseconds - Self.slack.microseconds) }
            return Poll(
                look: BacklogPoll(place, since: since),
                writes: state.writes[place, default: 0],
                mark: mark
            )
        }
    }

    /// Stores the result of a poll: the turn of the first waiting delivery, or `nil` if none waits.
    ///
    /// `now` is the database's clock.
    func saw(_ oldest: Timestamp?, by glance: Poll, now: Timestamp) {
        let place = glance.look.place
        state.withLock { state in
            state.clock = (now, time.steady())
            state.mark(place, oldest ?? now)
            if oldest != nil {
                state.standing[place.key, default: []].insert(place.priority)
            } else {
                state.forget(place, unlessWrittenSince: glance.writes)
            }
        }
    }

    /// Stores the result of a pull: the turns of the pulled deliveries, or an empty array.
    func pulled(_ turns: [Timestamp], by glance: Poll) {
        let place = glance.look.place
        state.withLock { state in
            if !turns.isEmpty { state.pulls[place.key, default: 0] += turns.count }
            if let last = turns.max() {
                state.mark(place, min(last, state.lowered(place, since: glance.mark) ?? last))
            } else {
                state.forget(place, unlessWrittenSince: glance.writes)
            }
        }
    }

    /// Returns the number of pulled deliveries per backlog since the last call.
    func takePulls() -> [BacklogKey: Int] {
        state.withLock { state in
            defer { state.pulls = [:] }
            return state.pulls
        }
    }

    /// Returns the most urgent of these priorities in which deliveries are known to wait.
    func next(of key: BacklogKey, among priorities: Set<Priority>) -> Priority? {
        state.withLock { state in
            state.standing[key]?.intersection(priorities).min { $0.urgency < $1.urgency }
        }
    }

    /// Returns a random one of these priorities in which deliveries are known to wait.
    ///
    /// The selection is random so that successive probes of a closed outlet use different deliveries.
    func scout(of key: BacklogKey, among priorities: Set<Priority>, using chance: RandomSource) -> BacklogPlace? {
        var chance = chance
        return state.withLock { $0.standing[key]?.intersection(priorities) }?.randomElement(using: &chance)
            .map { BacklogPlace(key, $0) }
    }

    /// Marks backlogs with waiting deliveries as served, and returns them.
    ///
    /// Backlogs that are served or rest are left out.
    func takeUnserved(at now: ContinuousClock.Instant, among priorities: Set<Priority>) -> [BacklogKey] {
        state.withLock { state in
            let keys = state.standing.filter { key, standing in
                !standing.isDisjoint(with: priorities) && !state.serving.contains(key)
                    && state.rests[key].map { $0 <= now } ?? true
            }.keys
            state.serving.formUnion(keys)
            return Array(keys)
        }
    }

    /// Ends the service of a backlog.
    ///
    /// If the backlog is blocked, it rests until `end`.
    func leave(_ key: BacklogKey, restingUntil end: ContinuousClock.Instant?) {
        state.withLock { state in
            state.serving.remove(key)
            state.rests[key] = end
        }
        ring()
    }

    /// Notes that a backlog is blocked, so that it begins with small pulls afterwards.
    func startGently(_ key: BacklogKey) {
        state.withLock { _ = $0.gentle.insert(key) }
    }

    /// Returns whether the backlog begins with small pulls now, and clears the note.
    func takeGentleStart(_ key: BacklogKey) -> Bool {
        state.withLock { $0.gentle.remove(key) != nil }
    }

    /// The backlogs in which deliveries are known to wait.
    var known: [BacklogKey] { state.withLock { Array($0.standing.keys) } }

    /// Waits for a change, for at most `span`, and no longer than until the drain or the end of a rest.
    func wait(atMost span: Duration, from now: ContinuousClock.Instant, until drain: DrainSignal) async {
        let (bell, end) = state.withLock { ($0.bell, $0.rests.values.filter { $0 > now }.min()) }
        let span = min(span, end.map { $0 - now } ?? span)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: span) }
            group.addTask { await bell.wait() }
            group.addTask { await drain.wait() }
            await group.next()
            group.cancelAll()
        }
        state.withLock { state in
            if state.bell.isDraining { state.bell = DrainSignal() }
        }
    }

    private func ring() {
        state.withLock(\.bell).fire()
    }
}

extension Backlogs.State {
    fileprivate mutating func mark(_ place: BacklogPlace, _ turn: Timestamp) {
        marks[place] = min(turn, floors[place] ?? turn)
    }

    /// Returns the mark if it is lower than the former one.
    fileprivate func lowered(_ place: BacklogPlace, since former: Timestamp?) -> Timestamp? {
        guard let former, let mark = marks[place], mark < former else { return nil }
        return mark
    }

    fileprivate mutating func forget(_ place: BacklogPlace, unlessWrittenSince count: Int) {
        guard writes[place, default: 0] == count else { return }
        standing[place.key]?.remove(place.priority)
        if standing[place.key]?.isEmpty ?? false { standing[place.key] = nil }
    }
}
