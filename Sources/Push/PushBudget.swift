import ServiceRuntime

/// How much a provider takes in a span of time, from all workers together.
package struct PushBudget: Hashable, Sendable {
    /// The account that it belongs to; senders with the same name share it.
    package let name: String
    /// Messages within `period`; that many may also go at once after a quiet time.
    package let pushes: Int
    package let period: Duration

    package init(name: String, pushes: Int, period: Duration) {
        self.name = name
        self.pushes = max(1, pushes)
        self.period = max(.milliseconds(1), period)
    }

    /// The limit of an account.
    init(name: String, _ limit: Limit) {
        self.init(name: name, pushes: limit.pushes, period: .seconds(limit.seconds))
    }

    /// What a configuration says: so many pushes in so many seconds.
    struct Limit {
        let pushes: Int
        let seconds: Int
    }

    package var perSecond: Double { Double(pushes) / period.secondsAsDouble }
}
