import BellhopRules
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
}

/// The open streams of a process, by user; a value, so that what happens to it is plain.
struct LiveStreams {
    /// One open stream.
    struct Stream {
        let number: UInt64
        let reader: RecipientKey
        let out: AsyncStream<[UInt8]>.Continuation
        /// When its token ends.
        let until: Timestamp
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
        var isQueued = false
        /// The last look failed.
        var hasFailed = false
    }

    private(set) var watches: [RecipientKey: Watch] = [:]
    private var readers: [InboxSign: Set<RecipientKey>] = [:]
    private var queue: [RecipientKey] = []
    private(set) var count = 0
    private var latest: UInt64 = 0
    /// No more may begin.
    private(set) var isClosed = false

    /// Why a stream may not begin.
    enum Refusal: Error {
        case tooManyOfUser, tooMany, closed
    }

    /// Adds a stream, whose reader is to be told what it missed; its number takes it away again.
    mutating func add(
        _ out: AsyncStream<[UInt8]>.Continuation,
        of reader: RecipientKey,
        _ join: Join,
        until: Timestamp,
        _ limits: LiveLimits,
        at now: ContinuousClock.Instant
    ) -> Result<UInt64, Refusal> {
        guard !isClosed else { return .failure(.closed) }
        guard count < limits.process else { return .failure(.tooMany) }
        guard watches[reader]?.streams.count ?? 0 < limits.user else { return .failure(.tooManyOfUser) }
        latest += 1
        count += 1
        let stream = Stream(number: latest, reader: reader, out: out, until: until, joinsFrom: join, saidAt: now)
        watches[reader, default: Watch(lookedAt: now)].streams.append(stream)
        readers[InboxSign(reader), default: []].insert(reader)
        enqueue(reader)
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
        let sign = InboxSign(reader)
        readers[sign]?.remove(reader)
        if readers[sign]?.isEmpty ?? false { readers[sign] = nil }
    }

    // MARK: - Whom to look at

    mutating func enqueue(_ reader: RecipientKey) {
        guard let watch = watches[reader], !watch.isQueued else { return }
        watches[reader]?.isQueued = true
        queue.append(reader)
    }

    mutating func enqueue(_ signs: [InboxSign]) {
        for sign in signs {
            for reader in readers[sign] ?? [] { enqueue(reader) }
        }
    }

    mutating func enqueueAll() {
        for reader in Array(watches.keys) { enqueue(reader) }
    }

    var hasQueue: Bool { !queue.isEmpty }

    /// All who wait to be looked at; what changes from here on is another look's.
    mutating func takeQueue() -> [RecipientKey] {
        defer { queue = [] }
        for reader in queue { watches[reader]?.isQueued = false }
        return queue.filter { watches[$0] != nil }
    }

    // MARK: - Telling

    /// A look at a user has failed; it is tried again with the next tick.
    mutating func fail(_ reader: RecipientKey) {
        watches[reader]?.hasFailed = true
    }

    /// Tells those who know what stood there before, and those of `joins` by their numbers; returns whoever is too slow.
    mutating func tell(
        _ reader: RecipientKey,
        _ events: [LiveEvent],
        joins: [UInt64: [LiveEvent]],
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
            guard let mine = stream.joinsFrom == nil ? events : joins[stream.number] else { continue }
            watch.streams[place].joinsFrom = nil
            guard !mine.isEmpty else { continue }
            watch.streams[place].saidAt = now
            if !mine.allSatisfy({ stream.out.takes($0.bytes) }) { slow.append(stream) }
        }
        watches[reader] = watch
        return slow
    }

    /// What a tick comes to.
    struct Tick {
        var expired: [Stream] = []
        var slow: [Stream] = []
    }

    /// Sends what is due by time alone, and queues whoever is.
    mutating func tick(_ pace: LivePace, at now: ContinuousClock.Instant, date: Timestamp) -> Tick {
        var tick = Tick()
        for reader in Array(watches.keys) {
            guard var watch = watches[reader] else { continue }
            for place in watch.streams.indices {
                let stream = watch.streams[place]
                if stream.until <= date {
                    tick.expired.append(stream)
                } else if now - stream.saidAt >= pace.heartbeat {
                    watch.streams[place].saidAt = now
                    if !stream.out.takes(LiveEvent.heartbeat) { tick.slow.append(stream) }
                }
            }
            watches[reader] = watch
            let isAwake = watch.glimpse?.wakesAt.map { $0 <= date } ?? false
            if isAwake || watch.hasFailed || now - watch.lookedAt >= pace.review { enqueue(reader) }
        }
        return tick
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
}

extension AsyncStream<[UInt8]>.Continuation {
    /// False where its reader has not taken what came before.
    fileprivate func takes(_ bytes: [UInt8]) -> Bool {
        if case .dropped = yield(bytes) { false } else { true }
    }
}
