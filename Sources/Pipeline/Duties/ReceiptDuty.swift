import AMQP
package import ServiceRuntime
import Store

/// Releases the deliveries whose receipts are due.
///
/// Any number may run: each takes deliveries that no other holds, postpones their due time and publishes their keys.
/// Deliveries without a confirm are due again in a second, and those whose receipts no worker reads in ten minutes.
package struct ReceiptDuty: Service {
    package let name = "receipts"
    private let store: WorkerStore
    private let publisher: any MessagePublisher
    private let names: TopologyNames
    private let logger: Logger
    private let loop: DutyLoop
    private let failing: FailingUsers

    package init(context: SchedulerContext, interval: Duration = .seconds(1)) {
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: interval, trouble: "cannot read due receipts")
        store = WorkerStore(pool: context.pool)
        publisher = context.publisher
        failing = context.failingUsers(name, logger)
        names = context.names
    }

    package func run(until drain: DrainSignal) async throws {
        var lookBack = PollWindow(every: loop.interval)
        await loop.run(until: drain) { try await handOver(&lookBack) }
    }

    private func handOver(_ lookBack: inout PollWindow) async throws(StoreError) -> DutyLoop.Next {
        let keys = try await lookBack.look { (span) throws(StoreError) in try await take(within: span) }
        guard !keys.isEmpty else { return .later }
        let messages = ReceiptMessage.messages(for: Array(keys))
        let outcomes = await publisher.publish(messages.map(message))
        let unconfirmed = zip(messages, outcomes).flatMap { $1 == .confirmed ? [] : $0.keys }
        logger.info("handed over", ["deliveries": .integer(keys.count - unconfirmed.count)])
        guard unconfirmed.isEmpty else {
            lookBack.putBack()
            try await store.giveBackReceipts(unconfirmed)
            return .later
        }
        return keys.count >= Self.batch ? .atOnce : .later
    }

    private func take(within span: Duration) async throws(StoreError) -> DuePollResult<DeliveryKey> {
        let taken = try await failing.take(atMost: Self.batch) { (users) throws(StoreError) in
            try await store.receiptHead(atMost: Self.batch, within: span, of: users)
        } count: {
            $0.count
        } _: { (users, limit) throws(StoreError) -> DuePollResult<DeliveryKey> in
            try await store.takeReceipts(atMost: limit, within: users.span(span), of: users)
        }
        return DuePollResult(taken)
    }

    private func message(_ receipts: ReceiptMessage) -> OutgoingMessage {
        OutgoingMessage(
            exchange: names.work,
            routingKey: names.receipts,
            properties: MessageProperties(contentType: "application/json"),
            body: receipts.body
        )
    }

    private static let batch = 1000
}
