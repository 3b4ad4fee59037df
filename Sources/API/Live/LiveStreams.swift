import BellhopRules
import ServiceRuntime
import Store

/// How many streams may be open.
package struct LiveLimits: Sendable {
    /// Of one user: tabs and devices.
    package var user: Int
    /// In this process.
    package var process: Int

    package init(user: Int = 10, process: Int = 12_000) {
        self.user = user
        self.process = process
    }

    /// The usual ones for a server with so many connections: a quarter of them is left to calls.
    package init(connections: Int) {
        self.init()
        process = min(process, connections - max(1, connections / 4))
    }
}

/// How long a stream may last: by its token, and for as long as the keys are in force that the token was checked with.
struct LiveHold {
    let until: Timestamp
    let keys: TokenKeySet.Mark
}

/// The open streams of a process, by user; a value, so that what happens to it is plain.
struct LiveStreams {
    /// One open stream.
    struct Stream {
        let number: UInt64
        let reader: RecipientKey
        let out: AsyncStream<[UInt8]>.Continuation
        /// How long it may last.
        let hold: LiveHold
        /// When it ends because its keys are in force no more.
        var outlivesKeysUntil: ContinuousClock.Instant?
        /// What its reader knows; nil once it is told of everything that happens.
        var joinsFrom: Join?
        var saidAt: ContinuousClock.Instant
    }

    /// What a reader brings along who has not been told anything yet.
    enum Join: Hashable {
        case withCursor(InboxCursor)
        case withNothing

        var cursor: InboxCursor? { if case .withCursor(let cursor) = self { cursor } else { nil } }
    }

    /// A user with streams.
    struct Watch {
        var streams: [Stream] = []
        /// What all of them know that do not join.
        var glimpse: InboxGlimpse?
        var lookedAt: ContinuousClock.Instant
        /// Which part of the usual time passes between two looks that nobody asked for: those who came together part.
        let patience: Double
        /// The last look failed.
        var hasFailed = false
    }

    private(set) var watches: [RecipientKey: Watch] = [:]
    private var readers: [InboxSign: Set<RecipientKey>] = [:]
    private var queue = LookQueue()
    private(set) var count = 0
    private var latest: UInt64 = 0
    private var chance: Chance
    /// No more may begin.
    private(set) var isClosed = false

    init(chance: Chance = .system) {
        self.chance = chance
    }

    /// Why a stream may not begin.
    enum Refusal: Error {
        case tooManyOfUser, tooMany, closed
    }

    /// Adds a stream, whose reader is to be told what it missed; its number takes it away again.
    mutating func add(
        _ out: AsyncStream<[UInt8]>.Continuation,
        of reader: RecipientKey,
        _ join: Join,
        _ hold: LiveHold,
        _ limits: LiveLimits,
        at now: ContinuousClock.Instant
    ) -> Result<UInt64, Refusal> {
        guard !isClosed else { return .failure(.closed) }
        guard count < limits.process else { return .failure(.tooMany) }
        guard watches[reader]?.streams.count ?? 0 < limits.user else { return .failure(.tooManyOfUser) }
        latest += 1
        count += 1
        let stream = Stream(number: latest, reader: reader, out: out, hold: hold, joinsFrom: join, saidAt: now)
        let fresh = Watch(lookedAt: now, patience: .random(in: 0.75...1.25, using: &chance))
        watches[reader, default: fresh].streams.append(stream)
        readers[InboxSign(reader), default: []].insert(reader)
        queue.add(reader, .soon)
        return .success(latest)
    }

    mutating func remove(_ number: UInt64, of reader: RecipientKey) {
        guard var watch = watches[reader], let place = watch.streams.firstIndex(where: { $0.number == number }) else {
            return
        }
        count -= 1
        watch.streams.remove(at: place)
        watches[reader] = watch.streams.isEmpty ? nil : watch
        guard watch.streams.isEmpty else { return }
        queue.remove(reader)
        let sign = InboxSign(reader)
        readers[sign]?.remove(reader)
        if readers[sign]?.isEmpty ?? false { readers[sign] = nil }
    }

    // MARK: - Whom to look at

    /// Those of them who have streams.
    mutating func enqueue(_ readers: some Sequence<RecipientKey>, _ rank: LookQueue.Rank) {
        for reader in readers where watches[reader] != nil { queue.add(reader, rank) }
    }

    mutating func enqueue(_ signs: [InboxSign]) {
        for sign in signs { enqueue(readers[sign] ?? [], .soon) }
    }

    mutating func enqueueAll() {
        enqueue(watches.keys, .whenQuiet)
    }

    var hasQueue: Bool { !queue.isEmpty }

    /// Who is to be looked at now; what changes from here on is another look's.
    mutating func takeQueue() -> LookQueue.Turn { queue.take() }

    // MARK: - Telling

    /// A look at a user has failed; it is tried again with the next tick.
    mutating func fail(_ reader: RecipientKey) {
        watches[reader]?.hasFailed = true
    }

    /// Tells those who know what stood there before, and those of `joins` by their numbers; returns whoever is too slow.
    ///
    /// What one look tells is one piece, so that a reader who comes back to many arrivals is not taken for a slow one.
    mutating func tell(
        _ reader: RecipientKey,
        _ news: [UInt8],
        joins: [UInt64: [UInt8]],
        _ glimpse: InboxGlimpse,
        at now: ContinuousClock.Instant
    ) -> [Stream] {
        guard var watch = watches[reader] else { return [] }
        watch.glimpse = glimpse
        watch.lookedAt = now
        watch.hasFailed = false
        var slow: [Stream] = []
        for place in watch.streams.indices {
            let stream = watch.streams[place]
            guard let mine = stream.joinsFrom == nil ? news : joins[stream.number] else { continue }
            watch.streams[place].joinsFrom = nil
            guard !mine.isEmpty else { continue }
            watch.streams[place].saidAt = now
            if !stream.out.takes(mine) { slow.append(stream) }
        }
        watches[reader] = watch
        return slow
    }

    /// When a tick is.
    struct Moment {
        let steady: ContinuousClock.Instant
        let date: Timestamp
        /// The key set in force.
        let keys: TokenKeySet.Mark
    }

    /// Sends what is due by time alone, queues whoever is to be looked at, and returns the streams that are to end.
    mutating func tick(_ pace: LivePace, at now: Moment) -> [LiveMetrics.Ending: [Stream]] {
        var endings: [LiveMetrics.Ending: [Stream]] = [:]
        for reader in Array(watches.keys) {
            guard var watch = watches[reader] else { continue }
            for place in watch.streams.indices {
                guard let ending = beat(&watch.streams[place], pace, at: now) else { continue }
                endings[ending, default: []].append(watch.streams[place])
            }
            watches[reader] = watch
            if watch.glimpse?.wakesAt.map({ $0 <= now.date }) ?? false {
                queue.add(reader, .soon)
            } else if watch.hasFailed || now.steady - watch.lookedAt >= pace.review * watch.patience {
                queue.add(reader, .whenQuiet)
            }
        }
        return endings
    }

    /// Says that a stream is alive where it is time to, or why it is to end.
    private mutating func beat(_ stream: inout Stream, _ pace: LivePace, at now: Moment) -> LiveMetrics.Ending? {
        if stream.hold.until <= now.date { return .expired }
        if stream.hold.keys !== now.keys {
            // Its token may be of a key that was taken away. Who holds another comes again, but not all at once.
            let end = stream.outlivesKeysUntil ?? now.steady + pace.rekeying * Double.random(in: 0..<1, using: &chance)
            stream.outlivesKeysUntil = end
            if end <= now.steady { return .keys }
        }
        guard now.steady - stream.saidAt >= pace.heartbeat else { return nil }
        stream.saidAt = now.steady
        return stream.out.takes(LiveEvent.heartbeat) ? nil : .slow
    }

    /// From here on nothing begins any more; returns what is open.
    mutating func close() -> [Stream] {
        isClosed = true
        return watches.values.flatMap(\.streams)
    }
}

/// How often something is said and looked at where nothing happens.
struct LivePace: Sendable {
    var heartbeat = Duration.seconds(15)
    /// A user is looked at anew after so long, whatever was announced.
    var review = Duration.seconds(300)
    var tick = Duration.seconds(1)
    /// How long the row that says that somebody listens holds, and how often it is renewed.
    var lease = Duration.seconds(30)
    var renewal = Duration.seconds(10)
    /// Until every worker has seen that somebody listens.
    var settling = Duration.seconds(3)
    /// A stream ends after so long, or up to a tenth sooner, however long its token holds.
    var life = Duration.seconds(3_600)
    /// Within so long streams end that began under other keys.
    var rekeying = Duration.seconds(10)
}

extension AsyncStream<[UInt8]>.Continuation {
    /// False where its reader has not taken what came before.
    fileprivate func takes(_ bytes: [UInt8]) -> Bool {
        if case .dropped = yield(bytes) { false } else { true }
    }
}
