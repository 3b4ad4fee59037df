import CRabbitMQ
import ServiceRuntime

/// Consuming over one connection, from its first subscription to its end.
///
/// Each turn sends what was settled, reads what has come in, hands it over in one piece, and sleeps when there is
/// nothing of either. Confined to the connection's thread.
struct ConsumerSession {
    static let channel: UInt16 = 1
    /// So many messages are read before settlements get their turn.
    private static let turn = 512

    private let connection: Connection
    private let options: ConsumerOptions
    private let inbox: ConsumerInbox
    private var subscriptions: Subscriptions
    private var assembler: MessageAssembler
    private var desk: SettlementDesk
    private var arrived: [IncomingMessage] = []
    private var arrivedBytes = 0
    private var pulse: Pulse
    /// When the broker last gave a sign of these subscriptions: a message, or that they are in place.
    private var latestSign = ContinuousClock.now

    init(_ connection: Connection, _ options: ConsumerOptions, _ inbox: ConsumerInbox) {
        self.connection = connection
        self.options = options
        self.inbox = inbox
        assembler = MessageAssembler(whole: options.wholeBody)
        subscriptions = Subscriptions(options)
        desk = SettlementDesk(channel: Self.channel, prefetch: subscriptions.smallestPrefetch)
        pulse = Pulse(heartbeat: connection.heartbeat)
    }

    /// Returns when the consumer is closed; throws when the connection is lost.
    ///
    /// Calls `ready` once, when the first subscription is in place.
    consuming func run(_ ready: () -> Void) throws(AMQPError) {
        try connection.openChannel(Self.channel)
        var mayHoldMore = true
        var isReady = false
        while true {
            let work = inbox.takeWork()
            try desk.settle(work, on: connection)
            switch work.phase {
            case .closing:
                try desk.farewell(on: connection, inbox.waker)
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
            let wait = min(pulse.interval, subscriptions.untilNextAttempt, desk.untilDue)
            let interest = hasRoom ? Waker.Interest.reading(connection.descriptor) : .nothing
            let isReadable = inbox.waker.sleep(for: wait, interest)
            inbox.wakeUp()
            mayHoldMore = mayHoldMore || isReadable
        }
    }

    /// Reads; where the header of a delivery cannot be read, which no further attempt will change, rejects the message
    /// before the connection is given up: the way out still works.
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

    /// Reads for one turn and hands over what came; `true` if there may be more without the socket being readable.
    private mutating func read() throws(AMQPError) -> Bool {
        defer { handOver() }
        pulse.served()
        while arrived.count < Self.turn, inbox.hasRoom(beside: arrivedBytes) {
            guard let frame = try connection.nextFrame() else { return false }
            try take(frame.pointee)
            // What a body frame brought has been copied: a body of many must not lie in the library as well.
            if !assembler.isExpectingFrames || Int32(frame.pointee.frame_type) == AMQP_FRAME_BODY {
                connection.releaseFrames()
            }
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
        arrived.append(IncomingMessage(delivery, queue: queue, epoch: desk.epoch))
        arrivedBytes += delivery.cost
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
        guard desk.deliver(deliver.delivery_tag), let index = subscriptions.index(ofTag: deliver.consumer_tag) else {
            throw AMQPError(.protocolViolation, "the broker delivered out of order or to an unknown consumer")
        }
        // What somebody sends to a queue of this connection's own says nothing of the others.
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

    /// Tries every subscription whose time has come; `true` if there was one.
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
                // The check has a channel of its own; consuming itself costs the one with the deliveries.
                if subscriptions.lostChannel { try replaceChannel(after: error) }
            }
        }
        if tried { inbox.setConsuming(subscriptions.isComplete, ownRefusal: subscriptions.ownRefusal) }
        return tried
    }

    /// Takes the subscriptions up anew, on a fresh channel, where nothing has come for long and nothing is unsettled.
    ///
    /// A queue that ends and comes back while it hands out messages may count as delivered what it never sent. It takes
    /// that back with the channel, and nothing else would make it as long as no other message comes.
    private mutating func renewAfterSilence() throws(AMQPError) -> Bool {
        let isIdle = subscriptions.isComplete && desk.isEmpty && arrived.isEmpty
        guard isIdle, latestSign.duration(to: .now) >= options.silence else { return false }
        try connection.closeChannel(Self.channel)
        subscriptions.restart()
        try startOver()
        return try subscribe(renewing: true)
    }

    /// Everything that was delivered on the old channel is back in its queue: forget it, and subscribe anew.
    private mutating func replaceChannel(after error: AMQPError) throws(AMQPError) {
        options.events.post(.channelClosed(error))
        inbox.forget()
        subscriptions.channelClosed(chance: options.chance())
        try startOver()
    }

    /// Opens the channel again with nothing left of the old one.
    private mutating func startOver() throws(AMQPError) {
        arrived.removeAll()
        arrivedBytes = 0
        assembler = MessageAssembler(whole: options.wholeBody)
        desk = SettlementDesk(channel: Self.channel, prefetch: subscriptions.smallestPrefetch)
        try dropLeftovers()
        try connection.openChannel(Self.channel)
    }

    /// What a call read while it waited for its answer and the library still keeps came on the old channel; the new one
    /// has the same number, so nothing would tell the two apart later.
    private mutating func dropLeftovers() throws(AMQPError) {
        while connection.holdsFrames, let frame = try connection.nextFrame() {
            if frame.pointee.channel == 0 { try take(frame.pointee) }
        }
    }
}
