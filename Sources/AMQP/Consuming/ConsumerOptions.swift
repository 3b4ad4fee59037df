/// The settings of a consumer.
package struct ConsumerOptions: Sendable {
    /// A queue to consume from, with its limit of unsettled messages.
    package struct Subscription: Sendable, Equatable {
        package let queue: String
        package let prefetch: UInt16
        /// The exchange to which a private queue is bound under its name; `nil` for a queue that exists without this
        /// consumer.
        package let exchange: String?

        /// Subscribes to an existing queue.
        ///
        /// `prefetch` is clamped to 1…65,535, because the protocol's 0 would mean no limit.
        package init(queue: String, prefetch: Int) {
            self.queue = queue
            self.prefetch = UInt16(clamping: max(1, prefetch))
            exchange = nil
        }

        /// Subscribes to a private queue of the connection.
        ///
        /// It receives the messages that are published to the exchange under this key while the connection lasts.
        ///
        /// The user needs permissions to declare queues with names that begin with the key, to bind them and to read
        /// them. A consumer without these permissions consumes from its other queues.
        package init(ownQueueFor key: String, boundTo exchange: String, prefetch: Int) {
            queue = key
            self.prefetch = UInt16(clamping: max(1, prefetch))
            self.exchange = exchange
        }
    }

    package let broker: BrokerAddress
    /// The name that operators see in the broker's list of connections.
    package let name: String
    package let subscriptions: [Subscription]
    /// The limit for bytes of messages that have arrived and were not taken.
    ///
    /// While it is reached, nothing is read from the socket.
    ///
    /// A single message may exceed it.
    package let bufferedBytes: Int
    /// The size above which bodies arrive cut.
    ///
    /// A message with a larger body cannot be published again, so that the beginning, the size and the digest of the
    /// body suffice.
    package var wholeBody = BodyLimits.whole
    /// The time without a message and without unsettled messages after which the subscriptions are renewed.
    package var silence = Duration.seconds(60)
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
        subscriptions: [Subscription],
        bufferedBytes: Int = 64 << 20,
        presence: BrokerAvailability = BrokerAvailability(),
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        observer: @escaping @Sendable (ConnectionEvent) -> Void = { _ in }
    ) {
        self.broker = broker
        self.name = name
        self.subscriptions = subscriptions
        self.bufferedBytes = bufferedBytes
        self.presence = presence
        self.chance = chance
        events = EventRelay(observer)
    }
}
