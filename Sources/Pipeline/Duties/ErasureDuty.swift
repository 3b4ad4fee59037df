package import ServiceRuntime
import Store

/// Repeats each erasure after a minute, because data that was being written meanwhile is stored by then.
///
/// Any number may run.
package struct ErasureDuty: Service {
    package let name = "erasures"
    private let book: ErasureStore
    private let loop: DutyLoop
    private let patience: Duration
    private let oldest: Gauge

    /// Polls once per `interval`; no statement takes longer than `patience`.
    package init(context: SchedulerContext, interval: Duration = .seconds(15), patience: Duration = .seconds(60)) {
        book = ErasureStore(pool: context.pool)
        loop = context.loop(of: name, every: interval, trouble: "cannot read pending erasures")
        self.patience = patience
        oldest = context.metrics.gauge(
            "bellhop_erasures_oldest_seconds",
            help: "Age of the oldest erasure whose second look is still to come; 0 if there is none."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        await loop.run(until: drain) { () throws(StoreError) in
            let isFull = try await book.repeatDue(after: patience, atMost: Self.batch) == Self.batch
            oldest.set(try await book.oldest()?.secondsAsDouble ?? 0)
            return isFull ? .atOnce : .later
        }
    }

    private static let batch = 100
}
