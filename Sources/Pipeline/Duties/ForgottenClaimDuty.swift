package import ServiceRuntime
import Store

/// Finds first attempts whose worker died and whose message was never redelivered, and releases them.
///
/// The broker redelivers a message until its worker has settled the outcome. Such attempts therefore exist only if the
/// message was lost to the delivery limit, a purge, a deleted queue or a cancelled fan-out. The duty walks slowly
/// through the ledger, page by page, and rests between two walks.
package struct ForgottenClaimDuty: Service {
    package let name = "forgotten-claims"
    private let claims: ForgottenClaimStore
    private let logger: Logger
    private let loop: DutyLoop
    private let found: Counter
    private let watch: ClaimantWatch?
    private let time: any TimeSource
    private let rhythm: Rhythm

    /// The speed of the walk, and the age of a forgotten claim.
    package struct Rhythm: Sendable {
        /// The pause between two steps of a walk, of 8 MB each.
        package var step: Duration
        /// The pause between the end of a walk and the next one.
        package var rest: Duration
        /// The period for which a claim is valid.
        package var lease: Duration
        /// The time that must have passed since the end of its lease.
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

    /// Creates the duty.
    ///
    /// `release` is the duty that takes the deliveries which this one finds, and that detects dead workers. Without it,
    /// their claims are found after the grace period, as all others.
    package init(context: SchedulerContext, rhythm: Rhythm, beside release: DueDeliveryDuty? = nil) {
        self.rhythm = rhythm
        watch = release?.watch
        time = context.time
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: rhythm.rest, trouble: "cannot read forgotten claims")
        claims = ForgottenClaimStore(
            pool: context.pool,
            olderThan: rhythm.lease + rhythm.grace,
            lease: rhythm.lease
        )
        found = context.metrics.counter(
            "bellhop_forgotten_claims_total",
            help: "First attempts that were never settled, found and released."
        )
    }

    package func run(until drain: DrainSignal) async throws {
        var walk = ClaimWalk(rest: rhythm.rest, lease: rhythm.lease)
        var hasFailed = false
        await loop.run(until: drain) { () throws(StoreError) in
            let findings = watch?.current ?? ClaimantWatch.Findings()
            guard walk.isDue(at: time.steady(), deaths: findings.deaths) else {
                return .after(min(rhythm.step, rhythm.rest))
            }
            let step: ForgottenClaimStore.Step
            switch try await look(from: walk.page, findings.dead) {
            case .success(let found): step = found
            case .failure(let error):
                walk.page += 1
                // If the server fails on page after page, it may fail on all: the loop's pauses grow.
                guard !hasFailed else { throw error }
                hasFailed = true
                return .after(rhythm.step)
            }
            hasFailed = false
            if step.found > 0 {
                found.increment(by: step.found)
                logger.warning("released first attempts that were never settled", ["deliveries": .integer(step.found)])
            }
            walk.end(before: step.next, at: time.steady())
            return .after(step.next == nil ? min(rhythm.step, rhythm.rest) : rhythm.step)
        }
    }

    /// Scans the next pages; a failure if the server fails on the first of them alone, which is left out of this walk.
    private func look(
        from page: Int64,
        _ dead: [Int64]
    ) async throws(StoreError) -> Result<ForgottenClaimStore.Step, StoreError> {
        var pages = Self.pages
        while true {
            do throws(StoreError) {
                return .success(try await claims.look(from: page, pages: pages, claimedBy: dead))
            } catch {
                guard error.mayPassForOthers else { throw error }
                guard pages > 1 else {
                    logger.warning(
                        "the database fails on a page of deliveries, leaving it out",
                        ["page": .integer(Int(page)), "error": .error(error)]
                    )
                    return .failure(error)
                }
                pages /= 4
            }
        }
    }

    /// 8 MB.
    private static let pages: Int64 = 1024
}
