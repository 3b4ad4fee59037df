import BellhopRules
import ServiceRuntime
import Store

/// The maximum numbers of open streams.
package struct LiveLimits: Sendable {
    /// Per user, for tabs and devices.
    package var user: Int
    /// In this process.
    package var process: Int

    package init(user: Int = 10, process: Int = 12_000) {
        self.user = user
        self.process = process
    }

    /// Creates the usual limits for a server with this number of connections.
    ///
    /// A quarter of them is reserved for calls.
    package init(connections: Int) {
        self.init()
        process = min(process, connections - max(1, connections / 4))
    }
}

/// The lifetime of a stream: until its token expires, and as long as the key set that checked the token is active.
struct StreamLifetime {
    let until: Timestamp
    let keys: TrustedIssuers.Mark
}

/// The open streams of a process, by user.
///
/// It is a value type, so that every change of it is explicit.
struct LiveStreams {
    /// One open stream.
    struct Stream {
        let number: UInt64
        let reader: UserKey
        let out: AsyncStream<[UInt8]>.Continuation
        /// The stream's lifetime.
        let hold: StreamLifetime
        /// When the stream ends because its key set is no longer active.
        var outlivesKeysUntil: ContinuousClock.Instant?
        /// The client's starting point, or `nil` after the client has received its first events.
        var joinsFrom: NewSubscriber?
        var saidAt: ContinuousClock.Instant
    }

    /// The state of a client that has received no event yet.
    enum NewSubscriber: Hashable {
        case withCursor(InboxCursor)
        case withNothing

        var cursor: InboxCursor? { if case .withCursor(let cursor) = self { cursor } else { nil } }
    }

    /// A user with open streams.
    struct WatchedUser {
        var streams: [Stream] = []
        /// The state known to all streams that have received their first events.
        var glimpse: InboxSnapshot?
        var lookedAt: ContinuousClock.Instant
        /// The user's factor of the usual interval between two routine reads.
        ///
        /// It differs, so that users who connected together are not read together.
        let patience: Double
        /// Whether the last read failed.
        var hasFailed = false
    }

    private(set) var watches: [UserKey: WatchedUser] = [:]
    private var readers: [UserHash: Set<UserKey>] = [:]
    private var queue = InboxPollQueue()
    private(set) var count = 0
    private var latest: UInt64 = 0
    private var chance: RandomSource
    /// Whether new streams are rejected.
    private(set) var isClosed = false

    init(chance: RandomSource = .system) { self.chance = chance }

    /// The reason why a stream is rejected.
    enum Refusal: Error {
        case tooManyOfUser, tooMany, closed
    }

    /// Adds a stream.
    ///
    /// Its client will receive the missed events. Returns the number by which the stream is removed.
    mutating func add(
        _ out: AsyncStream<[UInt8]>.Continuation,
        of reader: UserKey,
        _ join: NewSubscriber,
        _ hold: StreamLifetime,
        _ limits: LiveLimits,
        at now: ContinuousClock.Instant
    ) -> Result<UInt64, Refusal> {
        guard !isClosed else { return .failure(.closed) }
        guard count < limits.process else { return .failure(.tooMany) }
        guard watches[reader]?.streams.count ?? 0 < limits.user else { return .failure(.tooManyOfUser) }
        latest += 1
        count += 1
        let stream = Stream(number: latest, reader: reader, out: out, hold: hold, joinsFrom: join, saidAt: now)
        let fresh = WatchedUser(lookedAt: now, patience: .random(in: 0.75...1.25, using: &chance))
        watches[reader, default: fresh].streams.append(stream)
        readers[UserHash(reader), default: []].insert(reader)
        queue.add(reader, .soon)
        return .success(latest)
    }

    mutating func remove(_ number: UInt64, of reader: UserKey) {
        guard var watch = watches[reader], let place = watch.streams.firstIndex(where: { $0.number == number }) else {
            return
        }
        count -= 1
        watch.streams.remove(at: place)
        watches[reader] = watch.streams.isEmpty ? nil : watch
        guard watch.streams.isEmpty else { return }
        queue.remove(reader)
        let sign = UserHash(reader)
        readers[sign]?.remove(reader)
        if readers[sign]?.isEmpty ?? false { readers[sign] = nil }
    }

    // MARK: - Queue of users to read

    /// Queues those of the users who have streams.
    mutating func enqueue(_ readers: some Sequence<UserKey>, _ rank: InboxPollQueue.PollPriority) {
        for reader in readers where watches[reader] != nil { queue.add(reader, rank) }
    }

    mutating func enqueue(_ signs: [UserHash]) {
        for sign in signs { enqueue(readers[sign] ?? [], .soon) }
    }

    mutating func enqueueAll() { enqueue(watches.keys, .whenQuiet) }

    var hasQueue: Bool { !queue.isEmpty }

    /// Returns the users to read now.
    ///
    /// A later change needs another read.
    mutating func takeQueue() -> InboxPollQueue.Batch { queue.take() }

    // MARK: - Events

    /// Notes a failed read of a user.
    ///
    /// It is repeated with the next tick.
    mutating func fail(_ reader: UserKey) { watches[reader]?.hasFailed = true }

    /// Sends the events to streams that have the previous state, and the first events to the streams in `joins`, by
    /// number.
    ///
    /// Returns the streams whose clients are too slow.
    ///
    /// All events of one read form one piece, so that a client with many missed arrivals does not count as slow.
    mutating func tell(
        _ reader: UserKey,
        _ news: [UInt8],
        joins: [UInt64: [UInt8]],
        _ glimpse: InboxSnapshot,
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

    /// The time of a tick.
    struct Moment {
        let steady: ContinuousClock.Instant
        let date: Timestamp
        /// The active key set.
        let keys: TrustedIssuers.Mark
    }

    /// Sends heartbeats, queues users for routine reads, and returns the streams that must end.
    mutating func tick(_ pace: StreamIntervals, at now: Moment) -> [LiveMetrics.Ending: [Stream]] {
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

    /// Sends a heartbeat if one is due, or returns the reason why the stream must end.
    private mutating func beat(_ stream: inout Stream, _ pace: StreamIntervals, at now: Moment) -> LiveMetrics.Ending? {
        if stream.hold.until <= now.date { return .expired }
        if stream.hold.keys !== now.keys {
            // The token's key may have been removed. Clients with another token reconnect, but not all at the same
            // time.
            let end = stream.outlivesKeysUntil ?? now.steady + pace.rekeying * Double.random(in: 0..<1, using: &chance)
            stream.outlivesKeysUntil = end
            if end <= now.steady { return .keys }
        }
        guard now.steady - stream.saidAt >= pace.heartbeat else { return nil }
        stream.saidAt = now.steady
        return stream.out.takes(LiveEvent.heartbeat) ? nil : .slow
    }

    /// Rejects new streams from now on, and returns the open ones.
    mutating func close() -> [Stream] {
        isClosed = true
        return watches.values.flatMap(\.streams)
    }
}

/// The intervals of heartbeats and routine reads.
struct StreamIntervals: Sendable {
    var heartbeat = Duration.seconds(15)
    /// The interval after which a user is read again, independent of announcements.
    var review = Duration.seconds(300)
    var tick = Duration.seconds(1)
    /// The lease of the row that announces open streams, and the interval of its renewal.
    var lease = Duration.seconds(30)
    var renewal = Duration.seconds(10)
    /// The time until every worker has seen the row.
    var settling = Duration.seconds(3)
    /// The lifetime of a stream, or up to a tenth less, regardless of its token's validity.
    var life = Duration.seconds(3_600)
    /// The period over which streams with an older key set end.
    var rekeying = Duration.seconds(10)
}

extension AsyncStream<[UInt8]>.Continuation {
    /// Sends bytes.
    ///
    /// Returns false if the client has too many unread pieces.
    fileprivate func takes(_ bytes: [UInt8]) -> Bool {
        if case .dropped = yield(bytes) { false } else { true }
    }
}
