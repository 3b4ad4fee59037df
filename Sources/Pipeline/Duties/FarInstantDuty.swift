package import ServiceRuntime
import Store

/// Corrects instants that lie further ahead than anything is planned, which a wrong clock has left behind.
///
/// Any number may run. None runs while clocks differ.
package struct FarInstantDuty: Service {
    package let name = "far-instants"
    private let book: FarInstantBook
    private let logger: Logger
    private let loop: DutyLoop
    private let corrected: LabelledMetric<Counter>

    package init(context: SchedulerContext, interval: Duration = .seconds(60)) {
        book = FarInstantBook(pool: context.pool)
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: interval, trouble: "the database cannot be asked for instants far ahead")
        corrected = context.metrics.counter(
            "bellhop_far_instants_total",
            help: "Rows whose instants lay further ahead than anything is planned, and were set back.",
            labels: ["place"]
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var walk = FarInstantBook.Walk()
        await loop.run(until: drain) {
            // If the server fails on one place, the others are still corrected.
            var failure: StoreError?
            for place in FarInstantBook.Place.allCases {
                do throws(StoreError) {
                    try await setBack(in: place, &walk)
                } catch {
                    guard error.mayPassForOthers else { throw error }
                    failure = failure ?? error
                }
            }
            if let failure { throw failure }
            return .later
        }
    }

    private func setBack(
        in place: FarInstantBook.Place,
        _ walk: inout FarInstantBook.Walk
    ) async throws(StoreError) {
        let count = try await book.setBack(in: place, &walk)
        guard count > 0 else { return }
        corrected.with(place.rawValue).increment(by: count)
        logger.warning(
            "set instants back that lay far ahead: a clock was wrong",
            ["place": .text(place.rawValue), "rows": .integer(count)]
        )
    }
}
