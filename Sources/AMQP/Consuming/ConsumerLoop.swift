/// The loop of a consumer's thread: it connects, consumes until the connection fails, pauses and repeats, until the
/// consumer is closed.
///
/// Confined to that thread.
struct ConsumerLoop {
    private let options: ConsumerOptions
    private let inbox: ConsumerInbox
    private var reconnection: Reconnection

    init(_ options: ConsumerOptions, _ inbox: ConsumerInbox) {
        self.options = options
        self.inbox = inbox
        reconnection = Reconnection(options.broker)
    }

    consuming func run() {
        var phase = inbox.phase
        while phase != .closing {
            // A stopped consumer has no reason to connect again: the broker has its unsettled messages again.
            if phase == .open { connectOnce() } else { rest(.seconds(60)) }
            phase = inbox.phase
        }
        inbox.finish()
    }

    private mutating func connectOnce() {
        do throws(AMQPError) {
            let host = reconnection.nextHost()
            let connection = try BrokerConnection(to: options.broker, host, name: options.name, .receiving)
            options.events.post(.connected(host: host.description))
            try ConsumerSession(connection, options, inbox).run {
                reconnection.ready(at: .now)
                options.presence.returned()
            }
            inbox.forget()
        } catch {
            inbox.forget()
            let pause = reconnection.pause(at: .now, chance: options.chance())
            let retries = inbox.phase == .open
            options.events.post(.disconnected(error, retryIn: retries ? pause : nil))
            if retries { rest(pause) }
        }
    }

    /// Waits.
    ///
    /// The pause ends early for a stop or a close, and if another connection of the process returns.
    ///
    /// Settlements of the lost connection are discarded.
    private func rest(_ duration: Duration) {
        let rest = ReconnectPause(duration, options.presence, at: .now)
        options.presence.rest(inbox.waker)
        defer { options.presence.leave(inbox.waker) }
        let phase = inbox.phase
        while inbox.phase == phase, rest.left(at: .now) > .zero {
            _ = inbox.takeWork()
            guard inbox.fallAsleep() else { continue }
            inbox.waker.sleep(for: rest.left(at: .now))
            inbox.wakeUp()
        }
    }
}
