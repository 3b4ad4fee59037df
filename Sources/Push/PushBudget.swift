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

    package var perSecond: Double { Double(pushes) / (period / .seconds(1)) }
}
