/// The loop of a publisher's thread: it connects, publishes until the connection fails, pauses and repeats, until the
/// publisher is closed.
///
/// Confined to that thread.
struct PublisherLoop {
    private let options: PublisherOptions
    private let outbox: PublisherOutbox
    private let watchdog: Watchdog
    private var reconnection: Reconnection
    private var backlog = UnsentMessages()
    private var isClosing = false

    init(_ options: PublisherOptions, _ outbox: PublisherOutbox, _ watchdog: Watchdog) {
        self.options = options
        self.outbox = outbox
        self.watchdog = watchdog
        reconnection = Reconnection(options.broker)
    }

    consuming func run() {
        while !isClosing {
            connectOnce()
        }
        backlog.add(outbox.takeSubmissions().submissions)
        backlog.refuseAll("the publisher is closed")
        outbox.finish()
    }

    private mutating func connectOnce() {
        do throws(AMQPError) {
            let host = reconnection.nextHost()
            let connection = try BrokerConnection(to: options.broker, host, name: options.name, .publishing)
            options.events.post(.connected(host: host.description))
            var session = PublisherSession(connection, options, outbox, backlog)
            // The session's remaining work is kept, whether the session ends normally or with an error.
            defer { backlog = session.backlog }
            try watchdog.guarding(connection.descriptor) { () throws(AMQPError) in
                try session.run(watchdog) {
                    reconnection.ready(at: .now)
                    options.presence.returned()
                }
            }
            isClosing = true
        } catch {
            outbox.setConnected(false)
            let pause = reconnection.pause(at: .now, chance: options.chance())
            rest(pause, error)
        }
        outbox.setConnected(false)
    }

    /// Waits, and gives up messages that find no connection in time.
    ///
    /// The pause ends early for a close, and if another connection of the process returns.
    private mutating func rest(_ duration: Duration, _ error: AMQPError) {
        let rest = ReconnectPause(duration, options.presence, at: .now)
        options.presence.rest(outbox.waker)
        defer { options.presence.leave(outbox.waker) }
        var isAnnounced = false
        while true {
            let (submissions, isClosing) = outbox.takeSubmissions()
            if !isAnnounced { options.events.post(.disconnected(error, retryIn: isClosing ? nil : duration)) }
            isAnnounced = true
            self.isClosing = isClosing
            backlog.add(submissions)
            let now = ContinuousClock.now
            backlog.expire(options.timeout, at: now, "not connected: \(error)")
            guard !isClosing, rest.left(at: now) > .zero else { return }
            guard outbox.fallAsleep() else { continue }
            let slice = backlog.isEmpty ? Duration.seconds(60) : .milliseconds(100)
            outbox.waker.sleep(for: min(slice, rest.left(at: now)))
            outbox.wakeUp()
        }
    }
}
