import Postgres
package import ServiceRuntime
import Store

/// Finds first attempts whose worker died and whose message never came back, and has them handed over.
///
/// The broker hands a message out again until its worker has settled what came of it, so there is nothing to find, unless
/// the message was lost to the delivery limit, a purge, or a queue that was deleted. It walks through the ledger without
/// haste, page by page, and rests between two walks.
package struct ForgottenClaimFinder: Service {
    package let name = "forgotten-claims"
    private let claims: ForgottenClaimBook
    private let logger: Logger
    private let loop: DutyLoop
    private let found: Counter
    private let rest: Duration
    private let step: Duration

    /// How fast it walks, and what it takes for forgotten.
    package struct Rhythm: Sendable {
        /// Between two steps of a walk, of 8 MB each.
        package var step: Duration
        /// Between the end of a walk and the next one.
        package var rest: Duration
        /// How long a claim holds.
        package var lease: Duration
        /// How long its lease must be over.
        package var grace: Duration

        package init(
            step: Duration = .seconds(5),
            rest: Duration = .seconds(60),
            lease: Duration,
            grace: Duration = .seconds(300)
        ) {
            self.step = step
            self.rest = rest
            self.lease = lease
            self.grace = grace
        }
    }

    package init(tools: DutyTools, rhythm: Rhythm) {
        rest = rhythm.rest
        step = rhythm.step
        logger = tools.logger.labelled(name)
        loop = tools.loop(of: name, every: rhythm.rest, trouble: "cannot read forgotten claims")
        claims = ForgottenClaimBook(pool: tools.pool, olderThan: rhythm.lease + rhythm.grace)
        found = tools.metrics.counter(
            "bellhop_forgotten_claims_total",
            help: "First attempts that were never settled, found and released."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var page: Int64 = 0
        await loop.run(until: drain) {
            let step = try await claims.look(from: page, pages: Self.pages)
            if step.found > 0 {
                found.increment(by: step.found)
                logger.warning("released first attempts that were never settled", ["deliveries": .integer(step.found)])
            }
            page = step.next ?? 0
            return step.next == nil ? .after(rest) : .after(self.step)
        }
    }

    /// 8 MB.
    private static let pages: Int64 = 1024
}
