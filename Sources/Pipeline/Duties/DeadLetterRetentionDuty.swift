package import ServiceRuntime
package import Settings
import Store

/// Deletes resolved and discarded dead letters after their retention period.
package struct DeadLetterRetentionDuty: Service {
    package let name = "dead-letter retention"
    private let retirement: DeadLetterRetentionStore
    private let tools: SchedulerContext
    private let logger: Logger
    private let loop: DutyLoop
    private let deleted: Counter

    package init(tools: SchedulerContext, retention: DeadLetterRetention, interval: Duration = .seconds(600)) {
        self.tools = tools
        retirement = DeadLetterRetentionStore(pool: tools.pool, retention: retention)
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: interval, trouble: "cannot delete old dead letters")
        deleted = RetentionDuty.retired(tools.metrics).with("letters")
    }

    package func run(until drain: DrainSignal) async throws {
        await loop.run(until: drain, deleteBatch)
    }

    private func deleteBatch() async throws(StoreError) -> DutyLoop.Next {
        let count = try await retirement.deleteBatch(notBeyond: tools.latest)
        guard count > 0 else {
            try await retirement.forgetReplays(notBeyond: tools.latest)
            return .later
        }
        deleted.increment(by: count)
        logger.notice("deleted old dead letters", ["items": .integer(count)])
        return .after(Self.breath)
    }

    private static let breath = Duration.milliseconds(200)
}
