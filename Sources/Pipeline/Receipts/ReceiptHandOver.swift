import AMQP
import Postgres
package import ServiceRuntime
import Store

/// Hands over the deliveries whose provider is to be asked, when their time has come.
///
/// Any number may run: each takes lines that no other holds, moves their due time ahead, and publishes their keys. What is
/// not confirmed, or asked by nobody, comes up again in ten minutes.
package struct ReceiptHandOver: Service {
    package let name = "receipts"
    private let book: ReceiptBook
    private let publisher: Publisher
    private let names: TopologyNames
    private let logger: Logger
    private let interval: Duration

    package init(tools: DutyTools, interval: Duration = .seconds(1)) {
        self.interval = interval
        logger = tools.logger.labelled(name)
        book = ReceiptBook(pool: tools.pool)
        publisher = tools.publisher
        names = tools.names
    }

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            let isMore = await handOver()
            if !isMore { await drain.pause(for: interval) }
        }
    }

    /// - Returns: whether there may be more at once.
    private func handOver() async -> Bool {
        do throws(PostgresError) {
            let keys = try await book.take(atMost: Self.batch)
            guard !keys.isEmpty else { return false }
            let outcomes = await publisher.publish(ReceiptMessage.messages(for: keys).map(message))
            let isConfirmed = outcomes.allSatisfy { $0 == .confirmed }
            logger.info("handed over", ["deliveries": .integer(keys.count), "confirmed": .text("\(isConfirmed)")])
            return isConfirmed && keys.count == Self.batch
        } catch {
            logger.warning("the database cannot be asked for receipts that are due", ["error": .error(error)])
            return false
        }
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
