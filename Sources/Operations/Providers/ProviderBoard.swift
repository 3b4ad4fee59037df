package import BellhopJSON
package import BellhopRules
import Pipeline
import ServiceRuntime
package import Store

/// The state of every app at every provider, also while all of them work.
package struct ProviderBoard: Sendable {
    /// One app at one provider.
    package struct Row: Sendable {
        package enum State: String, Sendable {
            case accepts, failing, unused, held
            /// Answered in the last minute or two, and accepted nothing, or long nothing: each answer concerns its own
            /// device or message.
            case rejects
            case breakerOpen = "breaker-open"
        }

        package let app: String
        package let provider: String
        package var state = State.unused
        package fileprivate(set) var accepted = 0.0
        package fileprivate(set) var rejected = 0.0
        /// The answers of the last minute or two.
        package fileprivate(set) var answers = 0
        /// Those of them that reported a device as gone.
        package fileprivate(set) var gone = 0
        /// The latest start of a worker that has the outlet.
        ///
        /// A worker reports nothing from before its start. It is `nil` if no running worker has the outlet.
        package fileprivate(set) var reportedSince: Timestamp?
        /// The latest report of that worker; `nil` if no running worker has the outlet.
        package fileprivate(set) var reportedAt: Timestamp?
        package fileprivate(set) var acceptedAt: Timestamp?
        package fileprivate(set) var rejectedAt: Timestamp?
        /// The reason of the latest rejection.
        package fileprivate(set) var word: String?
        fileprivate var spans: [Int] = []
        /// The reason of the open breaker.
        package fileprivate(set) var breaker: String?
        /// The deliveries behind the open breaker; `nil` if none is open.
        package fileprivate(set) var blocked: BlockedDeliveries?
        /// The numbers of the holds.
        package fileprivate(set) var holds: [Int64] = []
        package fileprivate(set) var retries: WaitingRetries?
        /// The deliveries that wait for another attempt for another reason: a rate limit, or a response to themselves.
        package fileprivate(set) var others: [WaitingRetries] = []
        /// The deliveries whose next attempt is due or was brought forward.
        package fileprivate(set) var due: WaitingRetries?
        /// The deliveries behind the holds, without those behind the breaker.
        package fileprivate(set) var held = 0
        /// The deliveries of the backlogs that neither a breaker nor a hold stops.
        package fileprivate(set) var queued = 0
        fileprivate var isCapped = false

        /// All deliveries that wait: for another attempt, behind the breaker or a hold, or in a backlog.
        package var waiting: Int {
            allRetries.map(\.count).reduce(held + queued + (blocked?.waiting ?? 0), +)
        }
        /// Whether there may be more deliveries than were counted.
        package var waitingIsCapped: Bool {
            isCapped || allRetries.contains(where: \.isCapped)
        }
        private var allRetries: [WaitingRetries] { [retries, due].compactMap { $0 } + others }

        /// The period of which the latest worker has reported; `nil` if it has only reported its start.
        package var reported: Duration? {
            guard let reportedSince, let reportedAt else { return nil }
            let period = Duration.microseconds(reportedAt.microseconds - reportedSince.microseconds)
            return period >= .seconds(5) ? period : nil
        }

        /// The median time in milliseconds from a group of pushes that are sent together to the last answer; `nil`
        /// without any in the last minute or two.
        package var median: Double? { RequestTimes.quantile(0.5, spans) }
        package var slow: Double? { RequestTimes.quantile(0.95, spans) }
    }

    package let rows: [Row]
    package let time: Timestamp
    /// The sentence that no worker reports at present; `nil` if one does.
    package let absence: String?

    /// Reads the reports of all workers, the breakers, the holds and the retries.
    package init(_ context: OperationsContext) async throws {
        time = SystemTime().timestamp
        let heartbeats = HeartbeatStore(pool: context.pool)
        let (processes, silent) = (try await heartbeats.all(), try await heartbeats.silent())
        absence = processes.hasWorker ? nil : Self.absence
        let breakers = try await OpenBreaker.all(on: context.pool)
        let backlogs = try await WaitingBacklog.all(on: context.pool)
        let retries = RetryAdmin(pool: context.pool)
        let work = Work(
            breakers: breakers,
            backlogs: backlogs,
            holds: try await HoldAdmin(pool: context.pool).all(),
            retries: try await retries.waiting(atMost: RetryStore.mostInOverview),
            others: try await retries.limited(atMost: RetryStore.mostInOverview)
                + retries.others(atMost: RetryStore.mostInOverview),
            due: try await retries.due(atMost: RetryStore.mostInOverview)
        )
        rows = Self.rows(processes, afterSilenceOf: silent, work, at: time)
    }

    private static let absence =
        "No worker has reported in the last half minute: all of them hang, or none is running; see bellhop status."

    private struct Outlet: Hashable, Comparable {
        let app: String
        let provider: String

        static func < (left: Outlet, right: Outlet) -> Bool {
            (left.app, left.provider) < (right.app, right.provider)
        }
    }

    /// The deliveries that wait, and the breakers and holds that stop them.
    struct Work {
        var breakers: [OpenBreaker] = []
        var backlogs: [WaitingBacklog] = []
        var holds: [OperatorHold] = []
        var retries: [WaitingRetries] = []
        /// The deliveries that wait for another attempt, but not because of an outage.
        var others: [WaitingRetries] = []
        /// The deliveries whose next attempt is due or was brought forward.
        var due: [WaitingRetries] = []
    }

    /// Returns the outlets as the running workers report them.
    ///
    /// A worker that has fallen silent no longer counts, but its latest answers remain the latest.
    static func rows(
        _ processes: [LiveProcess],
        afterSilenceOf silent: [LiveProcess] = [],
        _ work: Work = Work(),
        at now: Timestamp
    ) -> [Row] {
        var rows: [Outlet: Row] = [:]
        func change(_ app: String, _ provider: String, _ edit: (inout Row) -> Void) {
            edit(&rows[Outlet(app: app, provider: provider), default: Row(app: app, provider: provider)])
        }
        for seen in processes {
            for activity in seen.report.activities {
                change(activity.app, activity.provider) { $0.add(activity, of: seen) }
            }
        }
        for activity in silent.flatMap(\.report.activities) {
            rows[Outlet(app: activity.app, provider: activity.provider)]?.addLatest(of: activity)
        }
        // An outage that is too short to be reported is not a rejection of single deliveries.
        let troubled = Set(processes.flatMap(\.report.troubles).map { Outlet(app: $0.app, provider: $0.provider) })
        for (outlet, row) in rows where row.rejectsEach {
            rows[outlet]?.state = troubled.contains(outlet) ? .failing : .rejects
        }
        for outage in ProviderOutage.combined(of: processes, at: now) {
            change(outage.app, outage.provider) { $0.state = .failing }
        }
        for waiting in work.retries { change(waiting.app, waiting.provider) { $0.retries = waiting } }
        for waiting in work.others { change(waiting.app, waiting.provider) { $0.others.append(waiting) } }
        for waiting in work.due { change(waiting.app, waiting.provider) { $0.due = waiting } }
        for backlog in work.backlogs {
            guard let part = OutletScope(backlog.name) else { continue }
            change(part.app.text, part.provider) { $0.add(backlog, part, work) }
        }
        for blocked in BlockedDeliveries.all(work.breakers, work.backlogs, work.holds, asOf: now) {
            change(blocked.app, blocked.provider) { row in
                (row.breaker, row.blocked) = (blocked.reason, blocked)
                row.state = .breakerOpen
            }
        }
        for hold in work.holds {
            let (scope, number) = (hold.scope, hold.number)
            for outlet in rows.keys where scope.app.text == outlet.app {
                guard (scope.provider ?? outlet.provider) == outlet.provider else { continue }
                rows[outlet]?.holds.append(number)
                // A hold of one type lets the others through.
                if scope.type == nil { rows[outlet]?.state = .held }
            }
        }
        return rows.sorted { $0.key < $1.key }.map(\.value)
    }

    package var json: JSONValue {
        .members([
            ("at", .string(time.description)), ("absence", .optional(absence)),
            ("providers", .array(rows.map(\.json))),
        ])
    }
}

extension ProviderBoard.Row {
    /// The rejections per minute from which a provider without acceptances is reported.
    static let manyRejections = 20.0

    /// The time between the last acceptance and the last rejection from which many rejections are those of every
    /// delivery, although the last minute or two contain acceptances.
    ///
    /// It is longer than the interval of the workers' reports.
    private static let longWithoutAcceptance = Duration.seconds(15)

    /// Whether the provider accepts nothing, and rejects what it is asked for.
    fileprivate var rejectsEach: Bool {
        guard rejected > 0, accepted > 0 else { return rejected > 0 }
        guard rejected >= Self.manyRejections, let acceptedAt, let rejectedAt else { return false }
        return rejectedAt.microseconds - acceptedAt.microseconds >= Self.longWithoutAcceptance.microseconds
    }

    /// Whether it reports most devices as gone, in such a number that our settings may be the cause.
    var isEndingDevices: Bool { gone >= MassRevocationDetector.fewest && 2 * gone > answers }

    /// Adds the report of one worker.
    fileprivate mutating func add(_ activity: OutletActivity, of worker: LiveProcess) {
        if worker.startedAt.microseconds >= reportedSince?.microseconds ?? .min {
            (reportedSince, reportedAt) = (worker.startedAt, worker.seenAt)
        }
        let minutes = Double(max(1, activity.seconds)) / 60
        accepted += Double(activity.accepted) / minutes
        rejected += Double(activity.rejected) / minutes
        answers += activity.accepted + activity.rejected
        gone += activity.gone
        if spans.count == activity.spans.count {
            for (place, count) in activity.spans.enumerated() { spans[place] += count }
        } else if spans.isEmpty {
            spans = activity.spans
        }
        addLatest(of: activity)
        if acceptedAt != nil || rejectedAt != nil { state = .accepts }
    }

    /// Notes the latest answers of one worker.
    fileprivate mutating func addLatest(of activity: OutletActivity) {
        if let at = activity.acceptedAt, at > acceptedAt ?? at.before { acceptedAt = at }
        if let at = activity.rejectedAt, at > rejectedAt ?? at.before { (rejectedAt, word) = (at, activity.word) }
    }

    /// Adds a backlog, except for the deliveries behind an open breaker, which are counted with it.
    fileprivate mutating func add(_ backlog: WaitingBacklog, _ part: OutletScope, _ work: ProviderBoard.Work) {
        if backlog.count >= StoreStatus.most { isCapped = true }
        guard !work.breakers.contains(where: { $0.key.blocks(part, work.holds) }) else { return }
        if work.holds.contains(where: { $0.scope.owns(part) }) {
            held += backlog.count
        } else {
            queued += backlog.count
        }
    }

    package var json: JSONValue {
        .members([
            ("app", .string(app)), ("provider", .string(provider)), ("state", .string(state.rawValue)),
            ("acceptedPerMinute", .int(Int(accepted.rounded()))), ("rejectedPerMinute", .int(Int(rejected.rounded()))),
            ("reportedSince", .optional(reportedSince?.description)),
            ("reportedAt", .optional(reportedAt?.description)),
            ("lastAcceptedAt", .optional(acceptedAt?.description)),
            ("lastRejectedAt", .optional(rejectedAt?.description)), ("lastRejection", .optional(word)),
            ("medianMilliseconds", Self.rounded(median)), ("p95Milliseconds", Self.rounded(slow)),
            ("breaker", .optional(breaker)), ("nextProbeAt", .optional(blocked?.nextProbe.description)),
            ("behindBreaker", .int(blocked?.waiting ?? 0)),
            ("behindBreakerIsCapped", .bool(blocked?.isCapped ?? false)),
            ("holds", .array(holds.map { JSONValue.int($0) })),
            ("retriesWaiting", .int(retries?.count ?? 0)),
            ("retriesWaitingIsCapped", .bool(retries?.isCapped ?? false)),
            ("lastRetryAt", .optional(retries?.lastDue.description)),
            ("otherRetriesWaiting", .int(others.map(\.count).reduce(0, +))),
            ("otherRetriesWaitingIsCapped", .bool(others.contains(where: \.isCapped))),
            ("retriesDue", .int(due?.count ?? 0)), ("retriesDueIsCapped", .bool(due?.isCapped ?? false)),
            ("behindHolds", .int(held)), ("inBacklog", .int(queued)), ("waiting", .int(waiting)),
            ("waitingIsCapped", .bool(waitingIsCapped)),
        ])
    }

    private static func rounded(_ number: Double?) -> JSONValue {
        number.flatMap { Int(exactly: $0.rounded()) }.map { JSONValue.int($0) } ?? .null
    }
}

extension Timestamp {
    fileprivate var before: Timestamp { Timestamp(clamping: microseconds - 1) }
}

/// Durations that are counted in buckets.
package enum RequestTimes {
    /// Returns a quantile in milliseconds, interpolated linearly within its bucket, or `nil` if there are no samples.
    ///
    /// `buckets` are the numbers of samples up to each of ``Histogram/secondBounds``, and of all samples.
    package static func quantile(_ share: Double, _ buckets: [Int]) -> Double? {
        guard let all = buckets.last, all > 0 else { return nil }
        let wanted = share * Double(all)
        var (below, lower) = (0.0, 0.0)
        for (bound, count) in zip(Histogram.secondBounds, buckets) {
            if Double(count) >= wanted {
                let inside = Double(count) - below
                return (lower + (bound - lower) * (inside > 0 ? (wanted - below) / inside : 1)) * 1_000
            }
            (below, lower) = (Double(count), bound)
        }
        return lower * 1_000
    }
}
