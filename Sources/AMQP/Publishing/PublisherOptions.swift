/// How a publisher works.
package struct PublisherOptions: Sendable {
    package let broker: BrokerAddress
    /// What operators see in the broker's list of connections.
    package let name: String
    /// How many messages may be sent and not yet confirmed.
    package let window: Int
    /// How long a message may wait to be sent while nothing moves, and again how long for its confirm.
    package let timeout: Duration
    /// Larger bodies are not sent: the broker would close the channel.
    package let bodyLimit: Int
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
        window: Int = 1000,
        timeout: Duration = .seconds(30),
        bodyLimit: Int = BodyLimits.whole,
        presence: BrokerPresence = BrokerPresence(),
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
