/// What a consumer is to do.
package struct ConsumerOptions: Sendable {
    /// A queue to take from, and how many of its messages may be unsettled at a time.
    package struct Subscription: Sendable, Equatable {
        package let queue: String
        package let prefetch: UInt16
        /// Where its own queue is bound, under its name; nil for a queue that stands without this consumer.
        package let exchange: String?

        /// `prefetch` is brought into 1…65,535: the protocol's 0 would mean no limit at all.
        package init(queue: String, prefetch: Int) {
            self.queue = queue
            self.prefetch = UInt16(clamping: max(1, prefetch))
            exchange = nil
        }

        /// A queue of the connection's own, which comes and goes with it: what is published to the exchange under this key
        /// arrives here, as long as somebody is here.
        ///
        /// It takes the rights to make queues of names that begin with the key, to bind and to read them. A consumer that
        /// lacks one consumes all the same.
        package init(ownQueueFor key: String, boundTo exchange: String, prefetch: Int) {
            queue = key
            self.prefetch = UInt16(clamping: max(1, prefetch))
            self.exchange = exchange
        }
    }

    package let broker: BrokerAddress
    /// What operators see in the broker's list of connections.
    package let name: String
    package let subscriptions: [Subscription]
    /// Bytes of messages that have arrived and that nobody has taken; while there are more, nothing is read from the
    /// socket.
    ///
    /// A single message may exceed it.
    package let bufferedBytes: Int
    /// Larger bodies arrive cut: of one that nobody may publish again, the beginning, the size and the digest suffice.
    package var wholeBody = BodyLimits.whole
    /// After so long without a message, and with none unsettled, the subscriptions are taken up anew.
    package var silence = Duration.seconds(60)
    /// What the connections of the process know of the broker.
    let presence: BrokerPresence
    let events: EventRelay
    let chance: @Sendable () -> Double

    /// `presence` is shared by the connections that call one another when the broker is back.
    ///
    /// `observer` is called on a queue of its own, in order; `chance` gives numbers from 0 up to 1.
    package init(
        broker: BrokerAddress,
        name: String,
        subscriptions: [Subscription],
        bufferedBytes: Int = 64 << 20,
        presence: BrokerPresence = BrokerPresence(),
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
