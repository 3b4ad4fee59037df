import CRabbitMQ
import Glibc
import ServiceRuntime

/// Publishes over one connection, from its first message to its end.
///
/// Each turn sends the messages that fit the window, reads the broker's answers, and sleeps if there is nothing to send
/// or read. Confined to the connection's thread.
struct PublisherSession {
    private static let channel: UInt16 = 1
    /// The number of messages that are sent before answers are read.
    private static let turn = 128
    /// The number of bytes that are sent before the socket is checked again for room, so that a send rarely blocks.
    private static let stride = 16 << 10
    /// The time for which a closing publisher waits for confirms.
    private static let farewell = Duration.seconds(4)

    private(set) var backlog: UnsentMessages
    private let connection: BrokerConnection
    private let options: PublisherOptions
    private let outbox: PublisherOutbox
    private var window = ConfirmWindow<PendingPublish>()
    private var assembler = MessageAssembler()
    private var pulse: HeartbeatTimer
    private var isBlocked = false
    private var closingSince: ContinuousClock.Instant?
    /// Bellhop's limit, or the broker's after it has named a smaller one.
    private var bodyLimit: Int

    init(
        _ connection: BrokerConnection,
        _ options: PublisherOptions,
        _ outbox: PublisherOutbox,
        _ backlog: UnsentMessages
    ) {
        self.connection = connection
        self.options = options
        self.outbox = outbox
        self.backlog = backlog
        bodyLimit = options.bodyLimit
        pulse = HeartbeatTimer(heartbeat: connection.heartbeat)
    }

    /// Returns when the publisher is closed, and throws if the connection is lost.
    ///
    /// In both cases, no message is left open. Calls `ready` when messages can be sent.
    mutating func run(_ watchdog: Watchdog, _ ready: () -> Void) throws(AMQPError) {
        do throws(AMQPError) {
            try openChannel()
            outbox.setConnected(true)
            ready()
            try work(watchdog)
            connection.close(waiting: 2000)
            settle(window.takeAll(), .unknown("the publisher was closed before the confirm came"))
        } catch {
            settle(window.takeAll(), .unknown("the connection was lost before the confirm came: \(error)"))
            throw error
        }
    }

    /// The result of the sending part of a turn.
    private enum Sent {
        case all, windowIsFull, socketIsFull, more
    }

    private mutating func work(_ watchdog: Watchdog) throws(AMQPError) {
        var mayHoldMore = true
        while true {
            watchdog.busy()
            if takeSubmissions() { return }
            let sent = try send()
            if mayHoldMore || pulse.isDue { mayHoldMore = try read() }
            expire()
            if mayHoldMore || sent == .more { continue }
            // Confirms that were just read have made room.
            if sent == .windowIsFull, window.count < options.window, !isBlocked { continue }
            guard outbox.fallAsleep() else { continue }
            watchdog.idle()
            let isIdle = window.count == 0 && backlog.isEmpty && closingSince == nil
            let wait = isIdle ? pulse.interval : min(pulse.interval, .milliseconds(100))
            let socket = connection.descriptor
            mayHoldMore = outbox.waker.sleep(
                for: wait,
                sent == .socketIsFull ? .readingAndWriting(socket) : .reading(socket)
            )
            outbox.wakeUp()
        }
    }

    /// Returns `true` if the publisher is being closed and no message is open, or the wait for confirms was too long.
    private mutating func takeSubmissions() -> Bool {
        let (submissions, isClosing) = outbox.takeSubmissions()
        backlog.add(submissions)
        guard isClosing else { return false }
        backlog.refuseAll("the publisher is closed")
        let since = closingSince ?? .now
        closingSince = since
        return window.count == 0 || since.duration(to: .now) > Self.farewell
    }

    private mutating func openChannel() throws(AMQPError) {
        try connection.openChannel(Self.channel)
        try connection.selectConfirms(Self.channel)
    }

    private func settle(_ answered: [ConfirmWindow<PendingPublish>.Answered], _ outcome: PublishOutcome) {
        for (ticket, _) in answered { ticket.resolve(outcome) }
    }

    private mutating func expire() {
        let now = ContinuousClock.now
        let seconds = options.timeout.components.seconds
        let reason = isBlocked ? PublishOutcome.alarm : "the broker takes no messages"
        backlog.expire(options.timeout, at: now, "not sent within \(seconds) s: \(reason)")
        settle(window.expire(options.timeout, at: now), .unknown("not confirmed within \(seconds) s"))
    }

    // MARK: Sending

    private mutating func send() throws(AMQPError) -> Sent {
        guard !backlog.isEmpty else { return .all }
        guard !isBlocked, window.count < options.window else { return .windowIsFull }
        cork(true)
        defer { cork(false) }
        let now = ContinuousClock.now
        var credit = 0
        for _ in 0..<Self.turn {
            guard window.count < options.window else { return .windowIsFull }
            if credit <= 0 {
                guard isWritable else { return .socketIsFull }
                credit = Self.stride
            }
            guard let ticket = backlog.pop() else { return .all }
            credit -= try send(ticket, at: now)
        }
        return .more
    }

    /// Sends one message and returns its size.
    ///
    /// A message that cannot be written gets its outcome immediately.
    private mutating func send(_ ticket: PendingPublish, at now: ContinuousClock.Instant) throws(AMQPError) -> Int {
        let message = ticket.message
        defer { connection.arena.recycle() }
        guard message.body.count <= bodyLimit else {
            ticket.resolve(.tooLarge("the body has \(message.body.count) bytes, and the limit is \(bodyLimit)"))
            return 0
        }
        var frame: (exchange: amqp_bytes_t, key: amqp_bytes_t, properties: amqp_basic_properties_t)
        do throws(AMQPError) {
            frame = try written(message)
        } catch {
            ticket.resolve(.unwritable(error.description))
            return 0
        }
        // Added before it is sent, because the broker may have accepted a message whose send failed halfway.
        window.add(ticket, at: now)
        backlog.progressed()
        let status = message.body.withUnsafeBytes { body in
            amqp_basic_publish(
                connection.state,
                Self.channel,
                frame.exchange,
                frame.key,
                1,
                0,
                &frame.properties,
                amqp_bytes_t(len: body.count, bytes: UnsafeMutableRawPointer(mutating: body.baseAddress))
            )
        }
        guard status == AMQP_STATUS_OK.rawValue else { throw connection.failure(status, "publish") }
        return message.body.count + 64
    }

    /// Converts the message for the library, within the limits whose violation would make the broker close the channel.
    private func written(
        _ message: OutgoingMessage
    ) throws(AMQPError) -> (exchange: amqp_bytes_t, key: amqp_bytes_t, properties: amqp_basic_properties_t) {
        let exchange = try connection.arena.short(message.exchange, "the name of an exchange")
        let key = try connection.arena.short(message.routingKey, "a routing key")
        let (properties, size) = try message.properties.written(in: connection.arena)
        // Around the properties: seven bytes before, twelve of class and body size, one after.
        let room = connection.agreedFrameSize - 20
        guard size <= room else {
            throw AMQPError(.invalidArgument, "the properties take \(size) bytes, and one frame holds \(room)")
        }
        return (exchange, key, properties)
    }

    private var isWritable: Bool {
        var polled = pollfd(fd: connection.descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&polled, 1, 0) == 1
    }

    /// Makes the kernel join small sends into full packets between the two calls.
    private func cork(_ on: Bool) {
        var value: Int32 = on ? 1 : 0
        setsockopt(connection.descriptor, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Reading

    /// Reads the available frames.
    ///
    /// Returns `true` if there may be more data although the socket is not readable.
    private mutating func read() throws(AMQPError) -> Bool {
        pulse.served()
        for _ in 0..<Self.turn {
            guard let frame = try connection.nextFrame() else { return false }
            try take(frame.pointee)
            // The data of a body frame has been copied. A body of many frames must not occupy the library's memory as
            // well.
            if !assembler.isExpectingFrames || Int32(frame.pointee.frame_type) == AMQP_FRAME_BODY {
                connection.releaseFrames()
            }
        }
        return true
    }

    private mutating func take(_ frame: amqp_frame_t) throws(AMQPError) {
        switch Int32(frame.frame_type) {
        case AMQP_FRAME_METHOD: try take(frame.payload.method, channel: frame.channel)
        case AMQP_FRAME_HEADER: returned(try assembler.header(frame))
        case AMQP_FRAME_BODY: returned(try assembler.body(frame.payload.body_fragment))
        default: break
        }
    }

    private mutating func take(_ method: amqp_method_t, channel: UInt16) throws(AMQPError) {
        guard let decoded = method.decoded else { return }
        switch method.id {
        case AMQP_BASIC_ACK_METHOD:
            let ack = decoded.assumingMemoryBound(to: amqp_basic_ack_t.self).pointee
            try answered(ack.delivery_tag, multiple: ack.multiple != 0, .confirmed)
        case AMQP_BASIC_NACK_METHOD:
            let nack = decoded.assumingMemoryBound(to: amqp_basic_nack_t.self).pointee
            try answered(nack.delivery_tag, multiple: nack.multiple != 0, .refused)
        case AMQP_BASIC_RETURN_METHOD:
            let sent = decoded.assumingMemoryBound(to: amqp_basic_return_t.self).pointee
            let reason = "\(sent.reply_code) \(String(sent.reply_text))"
            assembler.begin(.returned(reason: reason), exchange: sent.exchange, routingKey: sent.routing_key)
        case AMQP_CHANNEL_CLOSE_METHOD: try replaceChannel(after: connection.acknowledge(method, channel))
        case AMQP_CONNECTION_CLOSE_METHOD:
            throw try connection.acknowledge(method, channel).error("the connection of \(options.name) ended")
        case AMQP_CONNECTION_BLOCKED_METHOD:
            let blocked = decoded.assumingMemoryBound(to: amqp_connection_blocked_t.self).pointee
            setBlocked(true, .blocked(reason: String(blocked.reason)))
        case AMQP_CONNECTION_UNBLOCKED_METHOD: setBlocked(false, .unblocked)
        default: break
        }
    }

    private mutating func setBlocked(_ blocked: Bool, _ event: ConnectionEvent) {
        isBlocked = blocked
        outbox.setBlocked(blocked)
        options.events.post(event)
    }

    private mutating func answered(_ number: UInt64, multiple: Bool, _ outcome: PublishOutcome) throws(AMQPError) {
        guard let answered = window.answer(number, multiple: multiple) else {
            throw AMQPError(.protocolViolation, "the broker answered message \(number), which was never sent")
        }
        backlog.progressed()
        for (ticket, returned) in answered {
            ticket.resolve(returned.map { .unroutable("the broker found no queue for it: \($0)") } ?? outcome)
        }
    }

    /// Assigns a returned message to the oldest open message with the same content.
    ///
    /// A return has no number, but arrives in the order of sending and before its ack.
    ///
    /// If two messages are the same in every respect, the choice does not matter.
    private mutating func returned(_ content: MessageAssembler.Content?) {
        guard case .returned(let reason, let message) = content else { return }
        window.markReturned(reason) { ticket in
            let sent = ticket.message
            return sent.routingKey == message.routingKey && sent.exchange == message.exchange
                && sent.properties.messageID == message.properties.messageID && sent.body == message.body
        }
    }

    /// Opens a new channel after the broker closed the old one because of an open message that it does not identify.
    ///
    /// The broker discarded everything after that message.
    ///
    /// If the broker states its size limit, the larger messages are certainly rejected, now and later. Otherwise, only
    /// a message that was open alone is certainly the cause.
    private mutating func replaceChannel(after refusal: BrokerRefusal) throws(AMQPError) {
        let error = refusal.error("the channel of \(options.name) ended")
        options.events.post(.channelClosed(error))
        var open = window.takeAll()
        if let limit = refusal.bodyLimit {
            bodyLimit = min(bodyLimit, limit)
            settle(open.filter { $0.item.message.body.count > limit }, .tooLarge(error.description))
            open.removeAll { $0.item.message.body.count > limit }
            settle(open, .unknown(error.description))
        } else if open.count == 1 {
            settle(open, error.outcomeOfCulprit)
        } else {
            settle(open, .unknown(error.description))
        }
        window = ConfirmWindow()
        assembler = MessageAssembler()
        try openChannel()
    }
}

extension AMQPError {
    /// The outcome of the message for which a channel was closed.
    fileprivate var outcomeOfCulprit: PublishOutcome {
        switch code {
        case .notFound: .unroutable(description)
        case .preconditionFailed: .unwritable(description)
        default: .notSent(description)
        }
    }
}
