import AMQP
import BellhopRules
package import ServiceRuntime
import Store

/// Releases users whose unread count has changed, so that a worker updates their devices.
///
/// Any number may run. In the worst case, a crash makes a device receive the same number twice.
package struct BadgeDuty: Service {
    package let name = "badges"
    private let context: SchedulerContext
    private let book: BadgeStore
    private let loop: DutyLoop
    private let failing: FailingUsers
    private let handedOver: Counter
    private let calm: Duration

    /// The poll interval, and the time for which a user must have read nothing.
    package struct Rhythm: Sendable {
        package var interval: Duration
        package var calm: Duration

        package init(interval: Duration = .milliseconds(250), calm: Duration = .milliseconds(400)) {
            self.interval = interval
            self.calm = calm
        }
    }

    package init(context: SchedulerContext, rhythm: Rhythm = Rhythm()) {
        self.context = context
        calm = rhythm.calm
        loop = context.loop(
            of: name,
            every: rhythm.interval,
            trouble: "cannot read pending badge updates"
        )
        book = BadgeStore(pool: context.pool)
        failing = context.failingUsers(name, context.logger)
        handedOver = context.metrics.counter(
            "bellhop_badge_updates_total",
            help: "Users handed over because the number on their apps' icons had changed."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var lookBack = PollWindow(every: loop.interval)
        await loop.run(until: drain) { try await handOver(&lookBack) }
    }

    private func handOver(_ lookBack: inout PollWindow) async throws(StoreError) -> DutyLoop.Next {
        let entries = try await lookBack.look { (span) throws(StoreError) in try await take(within: span) }
        guard !entries.isEmpty else { return .later }
        let outcome = await context.publisher.publish([message(entries.map(\.recipient))])
        guard outcome == [.confirmed] else {
            lookBack.putBack()
            try await book.giveBack(entries)
            return .later
        }
        try await book.finish(entries)
        handedOver.increment(by: entries.count)
        return entries.count < BadgeMessage.limit ? .later : .atOnce
    }

    private func take(within span: Duration) async throws(StoreError) -> DuePollResult<BadgeStore.Entry> {
        let taken = try await failing.take(atMost: BadgeMessage.limit) { (users) throws(StoreError) in
            try await book.head(atMost: BadgeMessage.limit, calm: calm, within: span, of: users)
        } count: {
            $0.count
        } _: { (users, limit) throws(StoreError) -> DuePollResult<BadgeStore.Entry> in
            try await book.take(atMost: limit, calm: calm, within: users.span(span), of: users)
        }
        return DuePollResult(taken)
    }

    private func message(_ recipients: [UserKey]) -> OutgoingMessage {
        OutgoingMessage(
            exchange: context.names.work,
            routingKey: context.names.resume(.normal),
            properties: MessageProperties(contentType: "application/json"),
            body: BadgeMessage(recipients: recipients).body
        )
    }
}
