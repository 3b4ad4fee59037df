import AMQP
import BellhopRules
package import ServiceRuntime
package import Store

/// Runs replays: sends waiting items at the requested rate, collects the outcomes, and pauses if too many fail.
///
/// All of its state is in the database, so that another runner continues after a crash. Any number may run; each replay
/// is held by one.
package struct ReplayRunner: Service {
    package let name = "replays"
    private let run: ReplayStore
    private let time: any TimeSource
    private let publisher: any MessagePublisher
    private let names: TopologyNames
    private let resumes: ResumeSender
    private let logger: Logger
    private let loop: DutyLoop
    private let sent: Counter

    package init(context: SchedulerContext, horizon: ReplayHorizon, interval: Duration = .seconds(1)) {
        run = ReplayStore(pool: context.pool, runner: String(context.chance.next(), radix: 36), horizon: horizon)
        time = context.time
        publisher = context.publisher
        names = context.names
        logger = context.logger.labelled(name)
        loop = context.loop(of: name, every: interval, trouble: "cannot read replays")
        resumes = context.resumes(logger)
        sent = context.metrics.counter("bellhop_replayed_total", help: "Dead letters that a replay has sent.")
    }

    package func run(until drain: DrainSignal) async throws {
        var throttles: [Int64: ReplayThrottle] = [:]
        await loop.run(until: drain) { try await step(&throttles, drain) }
        try? await run.release()
    }

    /// Advances every replay by one step.
    private func step(
        _ throttles: inout [Int64: ReplayThrottle],
        _ drain: DrainSignal
    ) async throws(StoreError) -> DutyLoop.Next {
        let replays = try await run.take(for: Self.lease)
        throttles = throttles.filter { id, _ in replays.contains { $0.id == id } }
        var failure: StoreError?
        for replay in replays {
            do throws(StoreError) {
                // The previous step or runner may have ended after the write to the ledger and before the publication.
                if throttles[replay.id] == nil {
                    _ = await resumes.replay(try await run.unclaimed(of: replay.id), until: drain)
                }
                var throttle = throttles[replay.id] ?? ReplayThrottle(rate: replay.pace.rate, now: time.steady())
                throttle.rate = replay.pace.rate
                try await advance(replay, &throttle, drain)
                throttles[replay.id] = throttle
            } catch {
                // The other replays continue, and the next step of this one publishes again.
                throttles[replay.id] = nil
                failure = error
            }
        }
        if let failure { throw failure }
        return replays.contains { $0.state != .paused } ? .after(Self.breath) : .later
    }

    private func advance(
        _ replay: ReplayRecord,
        _ throttle: inout ReplayThrottle,
        _ drain: DrainSignal
    ) async throws(StoreError) {
        _ = try await run.collect(of: replay.id, atMost: Self.window)
        let load = try await run.load(of: replay.id)
        guard load.waiting || load.underWay > 0 else {
            if try await run.finish(replay.id) {
                logger.notice("replay finished", ["replay": .integer(Int(clamping: replay.id))])
            }
            return
        }
        guard replay.state == .running, load.waiting else { return }
        if let why = try await run.pauseIfFailing(replay.id, least: replay.ramp == nil ? Self.leastOutcomes : 1) {
            logger.warning(
                "replay paused",
                ["replay": .integer(Int(clamping: replay.id)), "because": .text(why)]
            )
            return
        }
        var room = Self.window - load.underWay
        if let ramp = replay.ramp { room = load.underWay == 0 ? min(room, ramp) : 0 }
        room = throttle.grant(room, now: time.steady())
        var count = 0
        while count < room, !drain.isDraining {
            let next = try await run.next(of: replay.id, atMost: min(Self.page, room - count))
            let tooOld = next.filter(\.isTooOld).map(\.position)
            try await run.settle(unsendable: tooOld, of: replay.id, as: .tooOld, why: Self.mayBeForgotten)
            let pieces = next.filter { !$0.isTooOld }
            guard !next.isEmpty, try await send(pieces, of: replay, drain) else { break }
            count += pieces.count
        }
        throttle.giveBack(room - count)
        sent.increment(by: count)
        if let ramp = replay.ramp, count > 0 { try await run.setRamp(Self.rampStep(after: ramp), of: replay.id) }
    }

    /// Sends items.
    ///
    /// - Returns: `false` if the broker accepted none of them, so that an immediate continuation is useless.
    private func send(
        _ pieces: [ReplayItem],
        of replay: ReplayRecord,
        _ drain: DrainSignal
    ) async throws(StoreError) -> Bool {
        let owed = try await run.send(deliveries: pieces.filter { $0.message == nil }.map(\.position), of: replay.id)
        async let resumed = resumes.replay(owed, until: drain)
        var messages: [(piece: ReplayItem, message: OutgoingMessage)] = []
        for piece in pieces {
            guard let origin = piece.message else { continue }
            guard origin.cutBody == nil else {
                try await run.settle(unsendable: [piece.position], of: replay.id, why: Self.bodyWasCut)
                continue
            }
            let mark = DeadLetterItem.ReplayMark(item: piece.deadID, replay: replay.id, round: piece.round)
            let replayed = ReplayHeaders(mark, by: replay.operator, origin: origin, arrivedAt: piece.arrivedAt)
            messages.append((piece, OutgoingMessage(replaying: origin, replayed, names: names)))
        }
        let outcomes = await publisher.publish(messages.map(\.message))
        // Messages are confirmed first and marked afterwards. After a crash in between, they are sent twice with the
        // same mark.
        var confirmed: [Int64] = []
        for (message, outcome) in zip(messages, outcomes) {
            switch outcome {
            case .confirmed: confirmed.append(message.piece.position)
            case .unwritable(let why), .tooLarge(let why):
                try await run.settle(unsendable: [message.piece.position], of: replay.id, why: why)
            case .refused, .unroutable, .notSent, .unknown: continue
            }
        }
        try await run.markSent(confirmed, of: replay.id)
        _ = await resumed
        guard let first = outcomes.first(where: { !$0.isFinal }) else { return true }
        logger.warning("broker rejected a replay message, retrying", ["first": .text("\(first)")])
        return false
    }

    /// Returns the next ramp size: 1, 2, 5, 10, 20, 50, … up to the window.
    static func rampStep(after size: Int) -> Int {
        var unit = 1
        while unit * 10 <= size { unit *= 10 }
        let next = size < 2 * unit ? 2 * unit : size < 5 * unit ? 5 * unit : 10 * unit
        return min(next, window)
    }

    /// The maximum of a replay's items in flight: enough to keep the lane busy, and few enough to detect a general
    /// failure in time.
    static let window = 1000
    /// The maximum of items in memory; their bodies have a separate limit.
    private static let page = 250
    private static let bodyWasCut = "only the beginning of its body is left, and that is not the message"
    private static let mayBeForgotten = "its notification may have been deleted, so it could be sent twice"
    private static let leastOutcomes = 10
    private static let lease = Duration.seconds(30)
    private static let breath = Duration.milliseconds(20)
}

extension PublishOutcome {
    /// Whether another publication would change nothing.
    fileprivate var isFinal: Bool {
        switch self {
        case .confirmed, .unwritable, .tooLarge: true
        case .refused, .unroutable, .notSent, .unknown: false
        }
    }
}

/// Limits items per second, without a burst of unused capacity.
struct ReplayThrottle: Sendable {
    /// Items per second, which an operator may change while the replay runs; `nil` means unlimited.
    var rate: Int?
    private var credit = 0.0
    private var last: ContinuousClock.Instant

    /// Limits to `rate` items per second; `nil` means unlimited.
    init(rate: Int?, now: ContinuousClock.Instant) {
        self.rate = rate
        last = now
    }

    /// Returns the number of the requested items that may be sent now.
    mutating func grant(_ wanted: Int, now: ContinuousClock.Instant) -> Int {
        guard let rate else { return wanted }
        let passed = last.duration(to: now)
        last = now
        let seconds = Double(passed.components.seconds) + Double(passed.components.attoseconds) * 1e-18
        // At most one second's worth: after a pause, it continues at its rate and does not catch up.
        credit = min(Double(rate), credit + seconds * Double(rate))
        let granted = max(0, min(wanted, Int(credit)))
        credit -= Double(granted)
        return granted
    }

    /// Returns unused items to the credit.
    mutating func giveBack(_ unused: Int) {
        guard rate != nil, unused > 0 else { return }
        credit += Double(unused)
    }
}
