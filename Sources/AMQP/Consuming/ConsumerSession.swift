import CRabbitMQ
import ServiceRuntime

/// Consumes over one connection, from its first subscription to its end.
///
/// Each turn sends the settlements, reads the messages that have arrived, delivers them together, and sleeps if there
/// is nothing to send or read. Confined to the connection's thread.
struct ConsumerSession {
    static let channel: UInt16 = 1
    /// The number of messages that are read before settlements are sent.
    private static let turn = 512

    private let connection: BrokerConnection
    private let options: ConsumerOptions
    private let inbox: ConsumerInbox
    private var subscriptions: Subscriptions
    private var assembler: MessageAssembler
    private var acks: AckWriter
    private var arrived: [IncomingMessage] = []
    private var arrivedBytes = 0
    private var pulse: HeartbeatTimer
    /// The time of the broker's last sign of these subscriptions: a message, or their confirmation.
    private var latestSign = ContinuousClock.now

    init(_ connection: BrokerConnection, _ options: ConsumerOptions, _ inbox: ConsumerInbox) {
        self.connection = connection
        self.options = options
        self.inbox = inbox
        assembler = MessageAssembler(whole: options.wholeBody)
        subscriptions = Subscriptions(options)
        acks = AckWriter(channel: Self.channel, prefetch: subscriptions.smallestPrefetch)
        pulse = HeartbeatTimer(heartbeat: connection.heartbeat)
    }

    /// Returns when the consumer is closed, and throws if the connection is lost.
    ///
    /// Calls `ready` once, when the first subscription is active.
    consuming func run(_ ready: () -> Void) throws(AMQPError) {
        try connection.openChannel(Self.channel)
        var mayHoldMore = true
        var isReady = false
        while true {
            let work = inbox.takeWork()
            try acks.settle(work, on: connection)
            switch work.phase {
            case .closing:
                try acks.farewell(on: connection, inbox.waker)
                return connection.close(waiting: 2000)
            case .stopped: try subscriptions.cancelAll(on: connection)
            // The calls may have read deliveries, which then wait inside the library.
            case .open:
                if try subscribe() { mayHoldMore = true }
                if try renewAfterSilence() { mayHoldMore = true }
                if !isReady, subscriptions.hasActive {
                    isReady = true
                    ready()
                }
            }
            let hasRoom = inbox.hasRoom()
            if hasRoom {
                if mayHoldMore || pulse.isDue { mayHoldMore = try readOrReject() }
                if mayHoldMore { continue }
            } else {
                try pulse.beat(connection)
            }
            guard inbox.fallAsleep(hadRoom: hasRoom) else { continue }
            let wait = min(pulse.interval, subscriptions.untilNextAttempt, acks.untilDue)
            let interest = hasRoom ? Waker.Interest.reading(connection.descriptor) : .nothing
            let isReadable = inbox.waker.sleep(for: wait, interest)
            inbox.wakeUp()
            mayHoldMore = mayHoldMore || isReadable
        }
    }

    /// Reads, and rejects a message whose header cannot be read.
    ///
    /// A further attempt would fail too, so the message is rejected before the connection is closed; sending still
    /// works at that point.
    private mutating func readOrReject() throws(AMQPError) -> Bool {
        do throws(AMQPError) {
            return try read()
        } catch {
            if error.code == .protocolViolation, let (subscription, number) = assembler.deliveryWithoutHeader {
                let reject = amqp_basic_reject_t(delivery_tag: number, requeue: 0)
                try connection.send(AMQP_BASIC_REJECT_METHOD, channel: Self.channel, reject, "reject a message")
                connection.hangUp()
                options.events.post(.unreadable(queue: subscriptions.queue(subscription)))
            }
            throw error
        }
    }

    /// Reads for one turn and delivers the messages.
    ///
    /// Returns `true` if there may be more data although the socket is not readable.
    private mutating func read() throws(AMQPError) -> Bool {
        defer { handOver() }
        pulse.served()
        while arrived.count < Self.turn, inbox.hasRoom(beside: arrivedBytes) {
            guard let frame = try connection.nextFrame() else { return false }
            try take(frame.pointee)
            // The data of a body frame has been copied. A body of many frames must not occupy the library's memory as
            // well.
            if !assembler.isExpectingFrames || Int32(frame.pointee.frame_type) == AMQP_FRAME_BODY {
                connection.releaseFrames()
            }
            // A further attempt to read would take two system calls to find nothing.
            if connection.isDrained { return false }
        }
        return true
    }

    private mutating func handOver() {
        guard !arrived.isEmpty else { return }
        inbox.deliver(arrived)
        arrived.removeAll()
        arrivedBytes = 0
    }

    private mutating func take(_ frame: amqp_frame_t) throws(AMQPError) {
        switch Int32(frame.frame_type) {
        case AMQP_FRAME_METHOD: try take(frame.payload.method, channel: frame.channel)
        case AMQP_FRAME_HEADER: complete(try assembler.header(frame))
        case AMQP_FRAME_BODY: complete(try assembler.body(frame.payload.body_fragment))
        default: break
        }
    }

    private mutating func complete(_ content: MessageAssembler.Content?) {
        guard case .delivery(let delivery) = content else { return }
        let queue = subscriptions.queue(delivery.subscription)
        arrived.append(IncomingMessage(delivery, queue: queue, epoch: acks.epoch))
        arrivedBytes += delivery.message.cost
    }

    private mutating func take(_ method: amqp_method_t, channel: UInt16) throws(AMQPError) {
        guard let decoded = method.decoded else { return }
        switch method.id {
        case AMQP_BASIC_DELIVER_METHOD:
            try begin(decoded.assumingMemoryBound(to: amqp_basic_deliver_t.self).pointee)
        case AMQP_BASIC_CANCEL_METHOD:
            let cancel = decoded.assumingMemoryBound(to: amqp_basic_cancel_t.self).pointee
            cancelled(subscriptions.index(ofTag: cancel.consumer_tag))
        case AMQP_CHANNEL_CLOSE_METHOD:
            let refusal = try connection.acknowledge(method, channel)
            guard channel == Self.channel else { return }
            try replaceChannel(after: refusal.error("the channel of \(options.name) ended"))
        case AMQP_CONNECTION_CLOSE_METHOD:
            throw try connection.acknowledge(method, channel).error("the connection of \(options.name) ended")
        case AMQP_CONNECTION_BLOCKED_METHOD:
            let blocked = decoded.assumingMemoryBound(to: amqp_connection_blocked_t.self).pointee
            options.events.post(.blocked(reason: String(blocked.reason)))
        case AMQP_CONNECTION_UNBLOCKED_METHOD: options.events.post(.unblocked)
        default: break
        }
    }

    private mutating func begin(_ deliver: amqp_basic_deliver_t) throws(AMQPError) {
        guard acks.deliver(deliver.delivery_tag), let index = subscriptions.index(ofTag: deliver.consumer_tag) else {
            throw AMQPError(.protocolViolation, "the broker delivered out of order or to an unknown consumer")
        }
        // A message in a private queue of this connection proves nothing about the other queues.
        if !subscriptions.isOwn(index) { latestSign = .now }
        assembler.begin(
            .delivery(
                subscription: index,
                number: deliver.delivery_tag,
                redelivered: deliver.redelivered != 0
            ),
            exchange: deliver.exchange,
            routingKey: deliver.routing_key
        )
    }

    private mutating func cancelled(_ index: Int?) {
        guard let index else { return }
        subscriptions.ended(index, chance: options.chance())
        inbox.setConsuming(subscriptions.isComplete)
        options.events.post(.consumerCancelled(queue: subscriptions.queue(index)))
    }

    /// Tries every subscription that is due; returns `true` if there was one.
    private mutating func subscribe(renewing: Bool = false) throws(AMQPError) -> Bool {
        var tried = false
        while let index = subscriptions.nextDue() {
            tried = true
            if !subscriptions.isOwn(index) { latestSign = .now }
            do throws(AMQPError) {
                guard try subscriptions.subscribe(index, on: connection) else { continue }
                let queue = subscriptions.queue(index)
                guard subscriptions.isNews(index, nil) else { continue }
                options.events.post(renewing ? .renewed(queue: queue) : .subscribed(queue: queue))
            } catch {
                guard error.isAboutChannel else { throw error }
                let pause = subscriptions.failed(index, error, chance: options.chance())
                let queue = subscriptions.queue(index)
                if subscriptions.isNews(index, error) {
                    options.events.post(.subscriptionFailed(queue: queue, error, retryIn: pause))
                }
                // The check uses a separate channel. A failure of consuming itself closes the channel with the
                // deliveries.
                if subscriptions.lostChannel { try replaceChannel(after: error) }
            }
        }
        if tried { inbox.setConsuming(subscriptions.isComplete, ownRefusal: subscriptions.ownRefusal) }
        return tried
    }

    /// Renews the subscriptions on a new channel after a long time without messages, if nothing is unsettled.
    ///
    /// If a queue ends and returns while it delivers messages, it may count messages as delivered that it never sent.
    /// Closing the channel makes it take them back; nothing else does as long as no other message arrives.
    private mutating func renewAfterSilence() throws(AMQPError) -> Bool {
        let isIdle = subscriptions.isComplete && acks.isEmpty && arrived.isEmpty
        guard isIdle, latestSign.duration(to: .now) >= options.silence else { return false }
        try connection.closeChannel(Self.channel)
        subscriptions.restart()
        try startOver()
        return try subscribe(renewing: true)
    }

    /// Replaces the channel and subscribes again.
    ///
    /// All messages of the old channel are back in their queues, so that they are forgotten here.
    private mutating func replaceChannel(after error: AMQPError) throws(AMQPError) {
        options.events.post(.channelClosed(error))
        inbox.forget()
        subscriptions.channelClosed(chance: options.chance())
        try startOver()
    }

    /// Opens the channel again without any state of the old channel.
    private mutating func startOver() throws(AMQPError) {
        arrived.removeAll()
        arrivedBytes = 0
        assembler = MessageAssembler(whole: options.wholeBody)
        acks = AckWriter(channel: Self.channel, prefetch: subscriptions.smallestPrefetch)
        try dropLeftovers()
        try connection.openChannel(Self.channel)
    }

    /// Drops the frames of the old channel that the library still keeps because a call read them while it waited for
    /// its answer.
    ///
    /// The new channel has the same number, so that the two could not be distinguished later.
    private mutating func dropLeftovers() throws(AMQPError) {
        while connection.holdsFrames, let frame = try connection.nextFrame() {
            if frame.pointee.channel == 0 { try take(frame.pointee) }
        }
    }
}
