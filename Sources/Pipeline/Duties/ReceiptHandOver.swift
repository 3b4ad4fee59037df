import AMQP
import Postgres
package import ServiceRuntime
import Store

/// Releases the deliveries whose receipts are due.
///
/// Any number may run: each takes deliveries that no other holds, postpones their due time and publishes their keys.
/// Deliveries without a confirm, or whose receipts no worker reads, are due again in ten minutes.
package struct ReceiptHandOver: Service {
    package let name = "receipts"
    private let book: ReceiptBook
    private let publisher: any MessagePublisher
    private let names: TopologyNames
    private let logger: Logger
    private let loop: DutyLoop

    package init(tools: DutyTools, interval: Duration = .seconds(1)) {
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: interval, trouble: "cannot read due receipts")
        book = ReceiptBook(pool: tools.pool)
        publisher = tools.publisher
        names = tools.names
    }

    package func run(until drain: DrainSignal) async throws {
        var lookBack = LookBack(every: loop.interval)
        await loop.run(until: drain) { try await handOver(&lookBack) }
    }

    private func handOver(_ lookBack: inout LookBack) async throws(PostgresError) -> DutyLoop.Next {
        let keys = try await lookBack.look { (span) throws(PostgresError) in
            try await book.take(atMost: Self.batch, within: span)
        }
        guard !keys.isEmpty else { return .later }
        let outcomes = await publisher.publish(ReceiptMessage.messages(for: Array(keys)).map(message))
        let isConfirmed = outcomes.allSatisfy { $0 == .confirmed }
        logger.info("handed over", ["deliveries": .integer(keys.count), "confirmed": .text("\(isConfirmed)")])
        return isConfirmed && keys.count == Self.batch ? .atOnce : .later
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
