import BellhopRules
import ServiceRuntime
import Store
import Synchronization

/// What a worker knows of the backlogs of its outlets: what it has put there itself, and what it saw when it looked last.
///
/// As long as something is known to wait for longer than a moment, what comes new joins the end instead of overtaking it;
/// what is more urgent than all of that goes at once.
///
/// Thread safety: all state is behind one lock; the bell is rung outside of it.
final class Backlogs: Sendable {
    fileprivate struct State {
        var standing: [BacklogKey: Set<Priority>] = [:]
        /// Up to where nothing waits, as far as is known, by the database's clock.
        var marks: [BacklogPlace: Timestamp] = [:]
        /// What that clock said, and when.
        var clock: (said: Timestamp, at: ContinuousClock.Instant)?
        /// The oldest turn that was put there since somebody began to look.
        var floors: [BacklogPlace: Timestamp] = [:]
        /// How often something was put there: what was looked at before says nothing of it.
        var writes: [BacklogPlace: Int] = [:]
        /// Which one somebody is serving, or lets rest until then.
        var serving: Set<BacklogKey> = []
        var rests: [BacklogKey: ContinuousClock.Instant] = [:]
        /// Which begin with little, since something has held them up.
        var gentle: Set<BacklogKey> = []
        /// How many were pulled since somebody asked.
        var pulls: [BacklogKey: Int] = [:]
        /// Fires when there is news; each rings once.
        var bell = DrainSignal()
    }

    private let state = Mutex(State())
    private let time: any TimeSource

    init(time: any TimeSource = SystemTime()) {
        self.time = time
    }

    /// How long something waits before what comes new has to stand behind it.
    ///
    /// Two messages may change places by as much. Were it nothing, a stall of a moment would send all that comes after it
    /// the long way round, until no more came.
    private static let grace = Duration.seconds(2)

    /// How much older than what was seen before something may be that is put there later.
    ///
    /// What is older still, since its provider took long to refuse it, is found by a look from the beginning, unless this
    /// worker has put it there itself.
    static let slack = Duration.seconds(5)

    // MARK: - Whoever sends

    /// Behind whom a shipment has to wait: those of its platform, of its type, or of its whole outlet, that are no less
    /// urgent.
    func ahead(of shipment: Shipment, in lane: Lane, _ outlet: OutletKey) -> BacklogKey? {
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

    /// Something was put there.
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

    // MARK: - Whoever looks and pulls

    /// A look that is about to be taken, with what it must not be mistaken about.
    struct Glance: Sendable {
        let look: BacklogBook.Look
        fileprivate let writes: Int
        /// The mark as it was then: a lower one since was set by who knows of something older.
        fileprivate let mark: Timestamp?
    }

    /// A look at a place: from where the last one has come to, or from the very beginning.
    func glance(at place: BacklogPlace, isWhole: Bool = false) -> Glance {
        state.withLock { state in
            state.floors[place] = nil
            let mark = state.marks[place]
            let since = isWhole ? nil : mark.map { Timestamp(clamping: $0.microseconds - Self.slack.microseconds) }
            return Glance(
                look: BacklogBook.Look(place, since: since),
                writes: state.writes[place, default: 0],
                mark: mark
            )
        }
    }

    /// What a look has found: the turn of the first that waits there, or nobody; `now` is the database's clock.
    func saw(_ oldest: Timestamp?, by glance: Glance, now: Timestamp) {
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

    /// What a pull has brought: these turns, or nothing.
    func pulled(_ turns: [Timestamp], by glance: Glance) {
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

    /// How many were pulled from each since this was asked last.
    func takePulls() -> [BacklogKey: Int] {
        state.withLock { state in
            defer { state.pulls = [:] }
            return state.pulls
        }
    }

    /// The most urgent of these priorities of which something is known to wait.
    func next(of key: BacklogKey, among priorities: Set<Priority>) -> Priority? {
        state.withLock { state in
            state.standing[key]?.intersection(priorities).min { $0.urgency < $1.urgency }
        }
    }

    /// Any of these priorities of which something is known to wait: where a single one is to find out whether the way is
    /// open, it is not the same one each time that finds it closed.
    func scout(of key: BacklogKey, among priorities: Set<Priority>, using chance: Chance) -> BacklogPlace? {
        var chance = chance
        return state.withLock { $0.standing[key]?.intersection(priorities) }?.randomElement(using: &chance)
            .map { BacklogPlace(key, $0) }
    }

    /// Those that wait and are neither served nor resting.
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

    /// Nobody serves it any more; where something holds it up, nobody does before this is over.
    func leave(_ key: BacklogKey, restingUntil end: ContinuousClock.Instant?) {
        state.withLock { state in
            state.serving.remove(key)
            state.rests[key] = end
        }
        ring()
    }

    /// Something holds it up: when that is over it begins with little.
    func startGently(_ key: BacklogKey) {
        state.withLock { _ = $0.gentle.insert(key) }
    }

    /// Whether it is to begin with little now.
    func takeGentleStart(_ key: BacklogKey) -> Bool {
        state.withLock { $0.gentle.remove(key) != nil }
    }

    /// All of which something is known to wait.
    var known: [BacklogKey] { state.withLock { Array($0.standing.keys) } }

    /// Until there is news, so long at most, but no longer than until the drain or the end of a rest.
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

    /// The mark, where it is lower than it was.
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
