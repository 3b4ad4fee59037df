import CRabbitMQ
import ServiceRuntime

/// The subscriptions of one connection: which are in place, and when the others are tried again.
struct Subscriptions {
    /// A subscription that failed for another reason than an absent queue cost the others their channel, so it is tried
    /// again rarely.
    private static let pauseAfterRefusal = Duration.seconds(60)
    /// A subscription that lasted this long starts over with short pauses.
    private static let soundAfter = Duration.seconds(10)
    /// A queue that was absent or deleted a moment ago may have a name and no leader yet (or still); RabbitMQ 3.10
    /// answers a consumer with 541 then, which ends the connection.
    ///
    /// So it is left alone for this long after it is seen.
    private static let ripeAfter = Duration.seconds(1)
    /// For looking whether a queue exists, which costs the channel when it does not.
    private static let probeChannel: UInt16 = 2

    private struct Entry {
        /// What its messages are told to come from.
        let queue: String
        /// What the broker calls it.
        let name: String
        /// Where a queue of the connection's own is bound; nil for one that stands.
        let exchange: String?
        let prefetch: UInt16
        var isActive = false
        /// When it became active, or when it is tried again.
        var due = ContinuousClock.now
        var backoff = Backoff.ofBroker
        /// Whether it has been absent, and is to be watched before it is consumed from.
        var isSuspect = false
        /// Since when a suspect is there.
        var seenSince: ContinuousClock.Instant?

        /// Whether a queue of the connection's own has been made and may be read from, as this connection has seen.
        var isProven = false
        /// Whether it is left alone for as long as this connection lasts.
        var isGivenUp = false
        /// What the broker had against it last.
        var refusal: String?

        var isOwn: Bool { exchange != nil }
        var isWanted: Bool { !isActive && !isGivenUp }
    }

    private var entries: [Entry]
    /// Whether all were ended on purpose: none is tried again.
    private var isOver = false
    /// Whether the last failure closed the channel that the deliveries come on.
    private(set) var lostChannel = false

    init(_ options: ConsumerOptions) {
        // A connection that is gone may have left its own behind for as long as the broker does not know.
        let session = String(UInt64(options.chance() * 0x1p53), radix: 36)
        entries = options.subscriptions.map { one in
            let name = one.exchange == nil ? one.queue : "\(one.queue).\(session)"
            return Entry(queue: one.queue, name: name, exchange: one.exchange, prefetch: one.prefetch)
        }
    }

    /// The smallest number of unsettled messages that stops a subscription to a queue that stands.
    var smallestPrefetch: Int { entries.filter { !$0.isOwn }.map { Int($0.prefetch) }.min() ?? 1 }

    /// Whether all that stand are consumed from: nothing waits for good in a queue of the connection's own.
    var isComplete: Bool { entries.allSatisfy { $0.isActive || $0.isOwn } }

    var hasActive: Bool { entries.contains(where: \.isActive) }

    /// What the broker has against a queue of the connection's own; nil where it has nothing, or there is none.
    var ownRefusal: String? { entries.lazy.filter { $0.isOwn && !$0.isActive }.compactMap(\.refusal).first }

    func queue(_ index: Int) -> String { entries[index].queue }

    /// Whether the queue is the connection's own.
    func isOwn(_ index: Int) -> Bool { entries[index].isOwn }

    /// The first that is not in place and whose time has come.
    func nextDue() -> Int? {
        guard !isOver, !entries.allSatisfy(\.isActive) else { return nil }
        let now = ContinuousClock.now
        return entries.firstIndex { $0.isWanted && $0.due <= now }
    }

    var untilNextAttempt: Duration {
        guard !isOver else { return .seconds(60) }
        let due = entries.filter(\.isWanted).map(\.due).min()
        return due.map { max(.zero, ContinuousClock.now.duration(to: $0)) } ?? .seconds(60)
    }

    /// Looks whether the queue exists, on a channel of its own, and consumes from it; `false` if it is to be watched
    /// for a moment longer.
    mutating func subscribe(_ index: Int, on connection: Connection) throws(AMQPError) -> Bool {
        let entry = entries[index]
        lostChannel = false
        try connection.openChannel(Self.probeChannel)
        try prepare(index, on: connection)
        try connection.closeChannel(Self.probeChannel)
        guard isRipe(index) else { return false }
        do throws(AMQPError) {
            try connection.setPrefetch(entry.prefetch, channel: ConsumerSession.channel)
            try connection.consume(entry.name, tag: tag(index), channel: ConsumerSession.channel)
        } catch {
            lostChannel = error.isAboutChannel
            throw error
        }
        entries[index].isActive = true
        entries[index].isSuspect = false
        entries[index].due = .now
        return true
    }

    /// Whatever the broker may have against the queue is to cost the channel for looking.
    ///
    /// Every right that an own queue takes is tried out here, to read from it as well: refused at consuming, it would cost
    /// the deliveries of all the others their channel.
    private mutating func prepare(_ index: Int, on connection: Connection) throws(AMQPError) {
        let entry = entries[index]
        guard let exchange = entry.exchange else {
            _ = try connection.checkQueue(entry.queue, channel: Self.probeChannel)
            return
        }
        try connection.makeOwnQueue(entry.name, channel: Self.probeChannel)
        // Once: later on something may wait in it.
        if !entry.isProven { try connection.purge(entry.name, channel: Self.probeChannel) }
        try connection.bind(entry.name, for: entry.queue, of: exchange, channel: Self.probeChannel)
        entries[index].isProven = true
    }

    /// Whether a queue that is there has been there long enough; if not, it is looked at again later.
    private mutating func isRipe(_ index: Int) -> Bool {
        guard entries[index].isSuspect else { return true }
        let since = entries[index].seenSince ?? .now
        guard since.duration(to: .now) < Self.ripeAfter else { return true }
        entries[index].seenSince = since
        entries[index].due = since + Self.ripeAfter
        return false
    }

    /// Asks the broker to end all that are in place, without waiting for its answer; they are over for good.
    mutating func cancelAll(on connection: Connection) throws(AMQPError) {
        isOver = true
        for index in entries.indices where entries[index].isActive {
            entries[index].isActive = false
            let label = try connection.arena.short(tag(index), "a consumer's tag")
            let cancel = amqp_basic_cancel_t(consumer_tag: label, nowait: 1)
            try connection.send(
                AMQP_BASIC_CANCEL_METHOD,
                channel: ConsumerSession.channel,
                cancel,
                "end a subscription"
            )
            connection.arena.recycle()
        }
    }

    /// The broker ended this one; it is tried again after a pause.
    mutating func ended(_ index: Int, chance: Double) {
        if entries[index].due.duration(to: .now) >= Self.soundAfter { entries[index].backoff.reset() }
        postpone(index, entries[index].backoff.next(chance: chance))
    }

    /// An attempt failed; returns the pause before the next one.
    mutating func failed(_ index: Int, _ error: AMQPError, chance: Double) -> Duration {
        let pause = entries[index].backoff.next(chance: chance)
        let longer = error.code == .notFound ? pause : max(pause, Self.pauseAfterRefusal)
        postpone(index, longer)
        // The others are not to lose their channel to it again.
        entries[index].isGivenUp = entries[index].isOwn && lostChannel && error.code == .accessRefused
        return longer
    }

    /// Whether this is to be told: what is refused to a queue of the connection's own stays refused, and is told once.
    mutating func isNews(_ index: Int, _ error: AMQPError?) -> Bool {
        let isNew = error?.description != entries[index].refusal
        entries[index].refusal = error?.description
        return isNew || !entries[index].isOwn
    }

    /// All are to be taken up again at once: their channel was closed by ourselves.
    mutating func restart() {
        for index in entries.indices {
            entries[index].isActive = false
            entries[index].due = .now
        }
    }

    /// All subscriptions ended with their channel.
    mutating func channelClosed(chance: Double) {
        for index in entries.indices where entries[index].isActive { ended(index, chance: chance) }
    }

    private mutating func postpone(_ index: Int, _ pause: Duration) {
        entries[index].isActive = false
        entries[index].isSuspect = true
        entries[index].seenSince = nil
        entries[index].due = .now + pause
    }

    // MARK: Tags

    /// "0:bellhop.urgent": the index for us, the queue for operators.
    private func tag(_ index: Int) -> String {
        "\(index):" + String(decoding: entries[index].queue.utf8.prefix(200), as: UTF8.self)
    }

    /// The index that a tag starts with.
    func index(ofTag tag: amqp_bytes_t) -> Int? {
        var index = 0
        for byte in UnsafeRawBufferPointer(start: tag.bytes, count: tag.len) {
            guard (0x30...0x39).contains(byte), index < entries.count else { break }
            index = index * 10 + Int(byte - 0x30)
        }
        return index < entries.count ? index : nil
    }
}
