import ServiceRuntime
import Synchronization

/// Publishes messages and returns the outcome of each, over one connection with one channel, on a dedicated thread.
///
/// Every message is sent mandatory and with confirms, in the order of the calls. The publisher connects and reconnects
/// automatically until it is closed. It never sends a message twice.
package final class Publisher: Sendable {
    private let options: PublisherOptions
    private let outbox: PublisherOutbox
    private let isStarted = Atomic<Bool>(false)

    package init(_ options: PublisherOptions) {
        self.options = options
        outbox = PublisherOutbox()
    }

    deinit { outbox.close() }

    /// Starts the thread; a second call has no effect.
    package func start() {
        guard !isStarted.exchange(true, ordering: .relaxed), outbox.open() else { return }
        let watchdog = Watchdog(limit: max(options.timeout, .seconds(20)))
        NativeThread.start(named: "amqp-publish", stackSize: BrokerConnection.stackSize) { [options, outbox] in
            PublisherLoop(options, outbox, watchdog).run()
        }
    }

    /// Publishes the messages and returns one outcome for each, in their order, when the last one is known.
    ///
    /// Every message has its outcome within about twice `timeout`, counted from the last progress of earlier messages.
    /// Cancelling the task has no effect, because sent messages cannot be recalled.
    package func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome] {
        await publish(messages, isOrdered: false)
    }

    /// Publishes the messages so that none of them reaches a queue before an earlier one, unless the broker refuses the
    /// earlier one.
    ///
    /// After a failure, such as the loss of the connection, the rest is not sent. `publish(_:)` would send it over the
    /// next connection.
    package func publish(inOrder messages: [OutgoingMessage]) async -> [PublishOutcome] {
        await publish(messages, isOrdered: true)
    }

    private func publish(_ messages: [OutgoingMessage], isOrdered: Bool) async -> [PublishOutcome] {
        guard !messages.isEmpty else { return [] }
        return await withCheckedContinuation { answer in
            outbox.submit(.init(messages: messages, isOrdered: isOrdered, since: .now, answer: answer))
        }
    }

    /// Publishes the messages for a caller that waits at most `patience`, or until its task is cancelled.
    ///
    /// A message without an outcome by then is `unknown`: it may still be sent and confirmed.
    package func publish(_ messages: [OutgoingMessage], within patience: Duration) async -> [PublishOutcome] {
        let (answers, door) = AsyncStream.makeStream(of: [PublishOutcome].self)
        Task<Void, Never> { _ = door.yield(await publish(messages)) }
        let timer = Task {
            try? await Task.sleep(for: patience)
            door.finish()
        }
        defer { timer.cancel() }
        for await outcomes in answers { return outcomes }
        return messages.map { _ in .unknown("not confirmed within \(patience)") }
    }

    /// Waits briefly for outstanding confirms, closes the connection and ends the thread.
    ///
    /// Returns after at most eight seconds.
    ///
    /// Messages that were not sent by then are not sent.
    package func close() async {
        outbox.close()
        guard isStarted.load(ordering: .relaxed) else { return }
        await outbox.finished(within: .seconds(8))
    }

    /// Whether a connection is up and ready for messages.
    package var isConnected: Bool { outbox.isConnected }

    /// Whether the broker currently has an alarm and accepts no messages.
    package var isBlocked: Bool { outbox.isBlocked }
}

/// The settings of a publisher.
package struct PublisherOptions: Sendable {
    package let broker: BrokerAddress
    /// The name that operators see in the broker's list of connections.
    package let name: String
    /// The maximum number of messages that are sent and not confirmed.
    package let window: Int
    /// The time for which a message may wait to be sent without progress, and again the time limit for its confirm.
    package let timeout: Duration
    /// The maximum size of a body in bytes.
    ///
    /// Larger bodies are not sent, because the broker would close the channel.
    package let bodyLimit: Int
    /// The process-wide knowledge of the broker's return.
    let presence: BrokerAvailability
    let events: EventRelay
    let chance: @Sendable () -> Double

    /// Creates the settings.
    ///
    /// Connections that share a `presence` notify each other when the broker is back.
    ///
    /// `observer` is called on a separate queue, in order. `chance` returns numbers from 0 up to, but not including, 1.
    package init(
        broker: BrokerAddress,
        name: String,
        window: Int = 1000,
        timeout: Duration = .seconds(30),
        bodyLimit: Int = BodyLimits.whole,
        presence: BrokerAvailability = BrokerAvailability(),
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        observer: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        self.broker = broker
        self.name = name
        self.window = max(1, window)
        self.timeout = timeout
        self.bodyLimit = bodyLimit
        self.presence = presence
        self.chance = chance
        events = EventRelay(observer)
    }
}
