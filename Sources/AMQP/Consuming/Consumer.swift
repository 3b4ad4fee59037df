import ServiceRuntime
import Synchronization

/// Consumes messages from one or several queues over one connection with one channel, on a dedicated thread.
///
/// It connects, reconnects and subscribes automatically until it is closed. Messages arrive in batches that grow with
/// the load: `next` returns the messages that have arrived since the previous call. None of the methods block.
///
/// Lifecycle: `start`, then `next` and `acknowledge` repeatedly, then `stop`, and `close` after all taken messages are
/// settled. Messages that are neither acknowledged nor released at `close` return to their queues.
package final class Consumer: Sendable {
    private let options: ConsumerOptions
    private let inbox: ConsumerInbox
    private let isStarted = Atomic<Bool>(false)

    package init(_ options: ConsumerOptions) {
        self.options = options
        inbox = ConsumerInbox(byteLimit: options.bufferedBytes)
    }

    deinit { inbox.close() }

    /// Starts the thread; a second call has no effect.
    package func start() {
        guard !isStarted.exchange(true, ordering: .relaxed) else { return }
        NativeThread.start(named: "amqp-consume", stackSize: BrokerConnection.stackSize) { [options, inbox] in
            ConsumerLoop(options, inbox).run()
        }
    }

    /// Waits for at least one message and returns the available messages, oldest first.
    ///
    /// The result has at most `limit` messages and at most `bytes` of headers and bodies, unless a single message is
    /// larger.
    ///
    /// Returns `nil` after the consumer was stopped, and if the calling task is cancelled. A cancellation loses no
    /// message. Several tasks may wait; each message goes to one of them.
    package func next(atMost limit: Int, bytes: Int = .max) async -> [IncomingMessage]? {
        await inbox.next(atMost: max(1, limit), bytes: bytes)
    }

    /// Acknowledges messages, so that their queues delete them.
    ///
    /// Returns immediately; the connection's thread informs the broker.
    package func acknowledge(_ tags: [DeliveryTag]) { inbox.settle(tags, .acknowledged) }

    /// Returns messages to their queues.
    ///
    /// The queues deliver them again and count this towards the delivery limit.
    package func release(_ tags: [DeliveryTag]) { inbox.settle(tags, .released) }

    /// Ends the subscriptions.
    ///
    /// Messages that have arrived and were not taken are released, and `next` returns `nil` from now on. Messages that
    /// were taken can still be settled while the connection lasts.
    package func stop() { inbox.stop() }

    /// Sends the settlements to the broker, closes the connection and ends the thread.
    ///
    /// Returns after at most five seconds; if more time is needed, the thread ends later.
    package func close() async {
        inbox.close()
        guard isStarted.load(ordering: .relaxed) else { return }
        await inbox.finished(within: .seconds(5))
    }

    /// Whether every subscription is active at this moment.
    package var isConsuming: Bool { inbox.isConsuming }

    /// The broker's reason for rejecting a private queue of the connection, which the consumer does without; `nil` if
    /// there is none.
    package var ownQueueRefusal: String? { inbox.ownRefusal }

    /// The bytes of messages that have arrived and were not taken.
    package var bufferedBytes: Int { inbox.bufferedBytes }
}
