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
