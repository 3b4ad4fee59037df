import BellhopRules
import ServiceRuntime
import Store
import Synchronization

/// A worker's view of one outlet's backlogs: the deliveries that it added itself, and the results of its last poll.
///
/// The whole outlet has a backlog, and each of its platforms and each type under a hold can have one.
///
/// If a backlog is known to have waited for longer than the grace period, new deliveries join its end and do not
/// overtake it. A delivery that is more urgent than all waiting ones is sent immediately.
///
/// Thread safety: all state is behind one lock; the signal fires outside of it.
final class Backlogs: Sendable {
    fileprivate struct State {
        /// The priorities in which deliveries are known to wait, by backlog; a backlog without any is absent.
        var waiting: [BacklogKey: Set<Priority>] = [:]
        var places: [BacklogPlace: Place] = [:]
        var service: [BacklogKey: Service] = [:]
        /// The last reading of the database's clock, and the local instant of the reading.
        var clock: (said: Timestamp, at: ContinuousClock.Instant)?
    }

    /// The worker's knowledge of one priority of a backlog.
    fileprivate struct Place {
        /// The turn up to which nothing waits, if known, on the database's clock.
        var mark: Timestamp?
        /// The oldest turn that was added since a poll began.
        var floor: Timestamp?
        /// The number of additions.
        ///
        /// A poll that began before an addition provides no information about it.
        var writes = 0
    }

    /// The state of a backlog's puller.
    fileprivate struct Service {
        var isActive = false
        /// The end of its pause.
        var restsUntil: ContinuousClock.Instant?
        /// Whether it begins with small pulls, because the backlog was blocked.
        var isGentle = false
        /// The measurement of its rate; `nil` if nothing was pulled in the last interval of reports.
        var measurement: RateMeasurement?
    }

    private let outlet: OutletKey
    private let signal: BacklogSignal
    private let time: any TimeSource
    private let state = Mutex(State())

    init(of outlet: OutletKey, signal: BacklogSignal, time: any TimeSource) {
        self.outlet = outlet
        self.signal = signal
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
    func ahead(of shipment: OutgoingDelivery, in lane: Lane) -> BacklogKey? {
        guard let priority = shipment.priority(in: lane) else { return nil }
        return state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            let now = state.clock.map { $0.said.microseconds + (time.steady() - $0.at).microseconds }
            var keys = [BacklogKey(outlet, type: shipment.ownType), BacklogKey(outlet)]
            if let platform = shipment.platform { keys.insert(BacklogKey(outlet, platform: platform), at: 0) }
            return keys.first { key in
                state.waiting[key]?.contains { other in
                    guard other.urgency <= priority.urgency else { return false }
                    guard let now, let oldest = state.places[BacklogPlace(key, other)]?.mark else { return true }
                    return now - oldest.microseconds > Self.grace.microseconds
                } ?? false
            }
        }
    }

    /// Notes that a delivery was added.
    func note(_ entry: BacklogEntry) {
        state.withLock { state in
            state.waiting[entry.place.key, default: []].insert(entry.place.priority)
            state.places[entry.place, default: Place()].add(at: entry.queuedAt)
        }
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
    func poll(_ place: BacklogPlace, isWhole: Bool = false) -> Poll {
        let known = state.withLock { state in
            state.places[place]?.floor = nil
            return state.places[place] ?? Place()
        }
        let since = isWhole ? nil : known.mark.map { Timestamp(clamping: $0.microseconds - Self.slack.microseconds) }
        return Poll(look: BacklogPoll(place, since: since), writes: known.writes, mark: known.mark)
    }

    /// Stores the result of a poll: the turn of the first waiting delivery, or `nil` if none waits.
    ///
    /// `now` is the database's clock.
    func polled(_ oldest: Timestamp?, by poll: Poll, now: Timestamp) {
        let place = poll.look.place
        state.withLock { state in
            state.clock = (now, time.steady())
            state.places[place, default: Place()].raise(to: oldest ?? now)
            if oldest != nil {
                state.waiting[place.key, default: []].insert(place.priority)
            } else {
                state.forget(place, unlessWrittenSince: poll.writes)
            }
        }
    }

    /// Stores the result of a pull: the turns of the pulled deliveries, or an empty array.
    func pulled(_ turns: [Timestamp], by poll: Poll) {
        let place = poll.look.place
        state.withLock { state in
            guard let last = turns.max() else { return state.forget(place, unlessWrittenSince: poll.writes) }
            state.service[place.key, default: Service()].measure(turns.count, at: time.steady())
            let lowered = state.places[place]?.lowered(since: poll.mark)
            state.places[place, default: Place()].raise(to: min(last, lowered ?? last))
        }
    }

    /// Returns the pulled deliveries per second of each backlog, or `nil` if it is not measured yet.
    ///
    /// A backlog from which nothing was pulled is not among them.
    func takeRates() -> [(key: BacklogKey, rate: Int?)] {
        let now = time.steady()
        return state.withLock { state in
            state.service.keys.compactMap { key in
                state.service[key]?.measurement?.report(at: now)
                guard let measurement = state.service[key]?.measurement else { return nil }
                guard !measurement.isIdle else {
                    state.service[key]?.measurement = nil
                    return nil
                }
                return (key, measurement.rate)
            }
        }
    }

    /// Ends the measurement of a backlog's rate, which does not apply after an obstacle.
    func endMeasurement(of key: BacklogKey) {
        state.withLock { $0.service[key]?.measurement = nil }
    }

    /// Returns the most urgent of these priorities in which deliveries are known to wait.
    func next(of key: BacklogKey, among priorities: Set<Priority>) -> Priority? {
        state.withLock { state in
            state.waiting[key]?.intersection(priorities).min { $0.urgency < $1.urgency }
        }
    }

    /// Returns a random one of these priorities in which deliveries are known to wait.
    ///
    /// The selection is random so that successive probes of a closed outlet use different deliveries.
    func probePlace(of key: BacklogKey, among priorities: Set<Priority>, using chance: RandomSource) -> BacklogPlace? {
        var chance = chance
        return state.withLock { $0.waiting[key]?.intersection(priorities) }?.randomElement(using: &chance)
            .map { BacklogPlace(key, $0) }
    }

    /// Marks backlogs with waiting deliveries as served, and returns them.
    ///
    /// Backlogs that are served or rest are left out.
    func takeUnserved(at now: ContinuousClock.Instant, among priorities: Set<Priority>) -> [BacklogKey] {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return [] }
            let keys = state.waiting.filter { key, waiting in
                guard !waiting.isDisjoint(with: priorities) else { return false }
                guard let service = state.service[key] else { return true }
                return !service.isActive && service.restsUntil.map { $0 <= now } ?? true
            }.keys
            for key in keys { state.service[key, default: Service()].isActive = true }
            return Array(keys)
        }
    }

    /// Ends the service of a backlog.
    ///
    /// If the backlog is blocked, it rests until `end`.
    func leave(_ key: BacklogKey, restingUntil end: ContinuousClock.Instant?) {
        state.withLock { state in
            state.service[key, default: Service()].isActive = false
            state.service[key]?.restsUntil = end
        }
        signal.wake()
    }

    /// Notes that a backlog is blocked, so that it begins with small pulls afterwards.
    func startGently(_ key: BacklogKey) {
        state.withLock { $0.service[key, default: Service()].isGentle = true }
    }

    /// Returns whether the backlog begins with small pulls now, and clears the note.
    func takeGentleStart(_ key: BacklogKey) -> Bool {
        state.withLock { state in
            defer { state.service[key]?.isGentle = false }
            return state.service[key]?.isGentle ?? false
        }
    }

    /// The backlogs in which deliveries are known to wait.
    var known: [BacklogKey] { state.withLock { Array($0.waiting.keys) } }

    /// Returns the end of the first pause that is not over.
    func firstEnd(after now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        state.withLock { $0.service.values.lazy.compactMap(\.restsUntil).filter { $0 > now }.min() }
    }
}

extension Backlogs.Service {
    fileprivate mutating func measure(_ count: Int, at now: ContinuousClock.Instant) {
        measurement = measurement ?? RateMeasurement(from: now)
        measurement?.add(count)
    }
}

extension Backlogs.Place {
    fileprivate mutating func add(at turn: Timestamp?) {
        writes += 1
        guard let turn else { return }
        floor = min(turn, floor ?? turn)
        mark = mark.map { min(turn, $0) }
    }

    fileprivate mutating func raise(to turn: Timestamp) {
        mark = min(turn, floor ?? turn)
    }

    /// Returns the mark if it is lower than the former one.
    fileprivate func lowered(since former: Timestamp?) -> Timestamp? {
        guard let former, let mark, mark < former else { return nil }
        return mark
    }
}

extension Backlogs.State {
    fileprivate mutating func forget(_ place: BacklogPlace, unlessWrittenSince count: Int) {
        guard places[place]?.writes ?? 0 == count else { return }
        waiting[place.key]?.remove(place.priority)
        guard waiting[place.key]?.isEmpty ?? false else { return }
        waiting[place.key] = nil
        // The next deliveries are another backlog.
        service[place.key]?.measurement = nil
    }
}

/// Wakes a worker's puller if a backlog changes.
///
/// Thread safety: the current signal is behind a lock, and fires outside of it.
final class BacklogSignal: Sendable {
    /// Fires once.
    private let current = Mutex(DrainSignal())

    func wake() {
        current.withLock(\.self).fire()
    }

    /// Waits until it wakes, for at most `span`, and no longer than until the drain.
    func wait(atMost span: Duration, until drain: DrainSignal) async {
        let signal = current.withLock(\.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: span) }
            group.addTask { await signal.wait() }
            group.addTask { await drain.wait() }
            await group.next()
            group.cancelAll()
        }
        current.withLock { if $0.isDraining { $0 = DrainSignal() } }
    }
}
