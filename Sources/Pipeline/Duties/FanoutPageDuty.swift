package import ServiceRuntime
import Store

/// Publishes fan-out pages for which no message exists: those of a resumed fan-out, and those whose message was lost.
///
/// Any number may run: each takes pages that no other holds. A page that is published twice is recorded once.
package struct FanoutPageDuty: Service {
    package let name = "fan-outs"
    private let store: WorkerStore
    private let resumes: ResumeSender
    private let logger: Logger
    private let loop: DutyLoop
    /// The time after which an unfinished page counts as lost; longer than any page takes.
    private let grace: Duration

    package init(context: SchedulerContext, interval: Duration = .seconds(1), grace: Duration = .seconds(300)) {
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: interval, trouble: "cannot read fan-out pages")
        store = WorkerStore(pool: context.pool)
        resumes = context.resumes(logger)
        self.grace = grace
    }

    package func run(until drain: DrainSignal) async throws {
        await loop.run(until: drain) { try await handOver(drain) }
    }

    private func handOver(_ drain: DrainSignal) async throws(StoreError) -> DutyLoop.Next {
        let pages = try await store.takeForgottenPages(atMost: Self.batch, lostAfter: grace)
        guard !pages.isEmpty else { return .later }
        let unconfirmed = await resumes.send(pages: pages, until: drain)
        try await store.giveBack(unconfirmed)
        logger.info("handed over pages", ["pages": .integer(pages.count - unconfirmed.count)])
        return unconfirmed.isEmpty && pages.count == Self.batch ? .atOnce : .later
    }

    private static let batch = 200
}
