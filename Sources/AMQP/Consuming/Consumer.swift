import ServiceRuntime
import Synchronization

/// Takes messages from one or several queues over one connection with one channel, on a thread of its own.
///
/// It connects, reconnects and subscribes by itself, for ever, until it is closed. Messages arrive in batches that grow
/// with the load: `next` returns what has come in meanwhile. None of the methods block.
///
/// Life: `start`, then `next` and `acknowledge` in turns, `stop` when no more is wanted, `close` when all that was
/// taken is settled. Messages that are neither acknowledged nor released at `close` go back to their queues.
package final class Consumer: Sendable {
    private let options: ConsumerOptions
    private let inbox: ConsumerInbox
    private let isStarted = Atomic<Bool>(false)

    package init(_ options: ConsumerOptions) {
        self.options = options
        inbox = ConsumerInbox(byteLimit: options.bufferedBytes)
    }

    deinit {
        inbox.close()
    }

    /// Starts the thread; a second call does nothing.
    package func start() {
        guard !isStarted.exchange(true, ordering: .relaxed) else { return }
        NativeThread.start(named: "amqp-consume", stackSize: Connection.stackSize) { [options, inbox] in
            ConsumerLoop(options, inbox).run()
        }
    }

    /// Waits until at least one message is there and returns what there is, oldest first: `limit` at most, and no more
    /// than `bytes` of headers and bodies unless a single message has more.
    ///
    /// `nil` once the consumer is stopped, and when the calling task is cancelled; nothing is lost by the latter.
    /// Several tasks may wait; each message goes to one of them.
    package func next(atMost limit: Int, bytes: Int = .max) async -> [IncomingMessage]? {
        await inbox.next(atMost: max(1, limit), bytes: bytes)
    }

    /// The messages are done with; their queues forget them.
    ///
    /// Returns at once, the connection's thread tells the broker.
    package func acknowledge(_ tags: [DeliveryTag]) {
        inbox.settle(tags, .acknowledged)
    }

    /// Gives the messages back to their queues, which deliver them again and count it towards the delivery limit.
    package func release(_ tags: [DeliveryTag]) {
        inbox.settle(tags, .released)
    }

    /// Ends the subscriptions.
    ///
    /// What has arrived and was not taken is released; `next` returns `nil` from now on. What was taken can still be
    /// settled, as long as the connection lasts.
    package func stop() {
        inbox.stop()
    }

    /// Tells the broker what is settled, closes the connection and ends the thread; returns after five seconds at most,
    /// in which case the thread ends later by itself.
    package func close() async {
        inbox.close()
        guard isStarted.load(ordering: .relaxed) else { return }
        await inbox.finished(within: .seconds(5))
    }

    /// Whether every subscription is in place right now.
    package var isConsuming: Bool { inbox.isConsuming }

    /// What the broker has against a queue of the connection's own, which the consumer does without; nil where nothing.
    package var ownQueueRefusal: String? { inbox.ownRefusal }

    /// Bytes of messages that have arrived and that nobody has taken.
    package var bufferedBytes: Int { inbox.bufferedBytes }
}
