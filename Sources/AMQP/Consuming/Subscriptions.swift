import CRabbitMQ
import ServiceRuntime

/// The subscriptions of one connection, with the retry times of the inactive ones.
struct Subscriptions {
    /// The minimum pause after a failure for another reason than a missing queue.
    ///
    /// Such a failure closes the channel of the other subscriptions, so that retries must be rare.
    private static let pauseAfterRefusal = Duration.seconds(60)
    /// The duration after which a subscription starts again with short pauses.
    private static let soundAfter = Duration.seconds(10)
    /// The time for which a queue is left alone after it is seen again.
    ///
    /// A queue that was missing or deleted a moment ago may have a name and no leader. RabbitMQ 3.10 then answers a
    /// consumer with 541, which ends the connection.
    private static let ripeAfter = Duration.seconds(1)
    /// The channel for checking whether a queue exists; the broker closes it if the queue is missing.
    private static let probeChannel: UInt16 = 2

    private struct Entry {
        /// The queue's name in received messages and events.
        let queue: String
        /// The queue's name at the broker.
        let name: String
        /// The exchange to which a private queue of the connection is bound; `nil` for a permanent queue.
        let exchange: String?
        let prefetch: UInt16
        var isActive = false
        /// The time at which it became active, or the time of the next attempt.
        var due = ContinuousClock.now
        var backoff = Backoff.ofBroker
        /// Whether the queue was missing and must be observed before it is consumed from.
        var isSuspect = false
        /// The time since which a suspect queue exists.
        var seenSince: ContinuousClock.Instant?

        /// Whether this connection has declared the private queue and may read from it.
        var isProven = false
        /// Whether no further attempt is made as long as this connection lasts.
        var isGivenUp = false
        /// The broker's most recent reason for rejecting the queue.
        var refusal: String?

        var isOwn: Bool { exchange != nil }
        var isWanted: Bool { !isActive && !isGivenUp }
    }

    private var entries: [Entry]
    /// Whether all subscriptions were ended on purpose, so that none is tried again.
    private var isOver = false
    /// Whether the last failure closed the channel with the deliveries.
    private(set) var lostChannel = false

    init(_ options: ConsumerOptions) {
        // A lost connection may leave its private queues behind until the broker detects the loss, so each session
        // needs different names.
        let session = String(UInt64(options.chance() * 0x1p53), radix: 36)
        entries = options.subscriptions.map { one in
            let name = one.exchange == nil ? one.queue : "\(one.queue).\(session)"
            return Entry(queue: one.queue, name: name, exchange: one.exchange, prefetch: one.prefetch)
        }
    }

    /// The smallest prefetch among subscriptions to permanent queues.
    var smallestPrefetch: Int { entries.filter { !$0.isOwn }.map { Int($0.prefetch) }.min() ?? 1 }

    /// Whether all permanent queues are consumed from.
    ///
    /// Private queues do not count, because no message stays in them permanently.
    var isComplete: Bool { entries.allSatisfy { $0.isActive || $0.isOwn } }

    var hasActive: Bool { entries.contains(where: \.isActive) }

    /// The broker's reason for rejecting a private queue; `nil` if there is none.
    var ownRefusal: String? { entries.lazy.filter { $0.isOwn && !$0.isActive }.compactMap(\.refusal).first }

    func queue(_ index: Int) -> String { entries[index].queue }

    /// Whether the queue is private to the connection.
    ///
    /// It is asked for each message, and a property of the entry would copy the entry.
    func isOwn(_ index: Int) -> Bool { entries[index].exchange != nil }

    /// Returns the first inactive subscription that is due.
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

    /// Checks on a separate channel whether the queue exists, and consumes from it.
    ///
    /// Returns `false` if the queue must be observed for a moment longer.
    mutating func subscribe(_ index: Int, on connection: BrokerConnection) throws(AMQPError) -> Bool {
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

    /// Prepares a queue on the probe channel, so that a refusal closes only that channel.
    ///
    /// Every permission that a private queue needs is tested here, including the one to read from it. A refusal when
    /// consuming would close the channel of all other deliveries.
    private mutating func prepare(_ index: Int, on connection: BrokerConnection) throws(AMQPError) {
        let entry = entries[index]
        guard let exchange = entry.exchange else {
            _ = try connection.checkQueue(entry.queue, channel: Self.probeChannel)
            return
        }
        try connection.makeOwnQueue(entry.name, channel: Self.probeChannel)
        // Only once: later, messages may wait in the queue.
        if !entry.isProven { try connection.purge(entry.name, channel: Self.probeChannel) }
        try connection.bind(entry.name, for: entry.queue, of: exchange, channel: Self.probeChannel)
        entries[index].isProven = true
    }

    /// Whether an existing queue has existed for long enough; if not, a later check is scheduled.
    private mutating func isRipe(_ index: Int) -> Bool {
        guard entries[index].isSuspect else { return true }
        let since = entries[index].seenSince ?? .now
        guard since.duration(to: .now) < Self.ripeAfter else { return true }
        entries[index].seenSince = since
        entries[index].due = since + Self.ripeAfter
        return false
    }

    /// Requests the end of all active subscriptions without waiting for the broker's answer.
    ///
    /// They are not started again.
    mutating func cancelAll(on connection: BrokerConnection) throws(AMQPError) {
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

    /// Records that the broker ended a subscription, which is tried again after a pause.
    mutating func ended(_ index: Int, chance: Double) {
        if entries[index].due.duration(to: .now) >= Self.soundAfter { entries[index].backoff.reset() }
        postpone(index, entries[index].backoff.next(chance: chance))
    }

    /// Records a failed attempt and returns the pause before the next one.
    mutating func failed(_ index: Int, _ error: AMQPError, chance: Double) -> Duration {
        let pause = entries[index].backoff.next(chance: chance)
        let longer = error.code == .notFound ? pause : max(pause, Self.pauseAfterRefusal)
        postpone(index, longer)
        // The other subscriptions must not lose their channel to it again.
        entries[index].isGivenUp = entries[index].isOwn && lostChannel && error.code == .accessRefused
        return longer
    }

    /// Whether an outcome must be reported.
    ///
    /// A refusal of a private queue is permanent and reported once.
    mutating func isNews(_ index: Int, _ error: AMQPError?) -> Bool {
        let isNew = error?.description != entries[index].refusal
        entries[index].refusal = error?.description
        return isNew || !entries[index].isOwn
    }

    /// Schedules all subscriptions immediately, after this side closed their channel.
    mutating func restart() {
        for index in entries.indices {
            entries[index].isActive = false
            entries[index].due = .now
        }
    }

    /// Records that all subscriptions ended with their channel.
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

    /// Returns a tag such as "0:bellhop.urgent": the index for Bellhop, and the queue for operators.
    private func tag(_ index: Int) -> String {
        "\(index):" + String(decoding: entries[index].queue.utf8.prefix(200), as: UTF8.self)
    }

    /// Returns the index at the start of a tag.
    func index(ofTag tag: amqp_bytes_t) -> Int? {
        var index = 0
        for byte in UnsafeRawBufferPointer(start: tag.bytes, count: tag.len) {
            guard (0x30...0x39).contains(byte), index < entries.count else { break }
            index = index * 10 + Int(byte - 0x30)
        }
        return index < entries.count ? index : nil
    }
}
