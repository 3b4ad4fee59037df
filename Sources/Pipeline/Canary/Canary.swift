package import AMQP
package import ServiceRuntime
package import Store
import Synchronization

/// Proves that a lane is consumed.
///
/// Every ten seconds the worker sends itself a message, which the lane consumes like any other and records in the
/// database; then it has returned.
///
/// It uses a queue of the lane's own connection, so that it concerns only this worker and leaves nothing on the broker.
/// It contains no event, is not counted, and touches no user, ledger or dead letter.
///
/// Thread safety: the flight is behind a lock.
package final class Canary: Sendable {
    /// The name of its lane, unique within the worker.
    let lane: String
    private let key: String
    private let exchange: String
    private let process: String
    private let book: HeartbeatStore
    private let publisher: any MessagePublisher
    private let time: any TimeSource
    private let flight = Mutex(CanaryState())

    /// The common data of all canaries of a worker.
    package struct Shared: Sendable {
        let process: String
        let book: HeartbeatStore
        let publisher: any MessagePublisher
        let names: TopologyNames
        let time: any TimeSource

        /// Creates a canary of the worker with the id `process`.
        package init(
            process: String,
            book: HeartbeatStore,
            publisher: any MessagePublisher,
            names: TopologyNames,
            time: any TimeSource = SystemTime()
        ) {
            self.process = process
            self.book = book
            self.publisher = publisher
            self.names = names
            self.time = time
        }
    }

    package init(for lane: String, of cage: Shared) {
        self.lane = lane
        key = cage.names.canary(lane, of: cage.process)
        exchange = cage.names.work
        process = cage.process
        book = cage.book
        publisher = cage.publisher
        time = cage.time
    }

    /// The subscription of the lane's consumer, in addition to its queues.
    package var subscription: ConsumerOptions.Subscription {
        .init(ownQueueFor: key, boundTo: exchange, prefetch: 4)
    }

    /// The text of the problem; `nil` if the last canary has returned or was sent recently.
    package var whatIsWrong: String? {
        flight.withLock { $0.whatIsWrong(at: time.steady()) }
    }

    /// The text of the problem, once the canary is late.
    var hindrance: String? {
        flight.withLock { flight in
            let now = time.steady()
            return flight.age(at: now) > CanaryState.patience ? flight.whatIsWrong(at: now) : nil
        }
    }

    /// Whether the lane can receive a canary.
    enum Readiness: Sendable {
        case free
        /// The lane does not consume.
        case away
        /// The lane consumes, but has no queue for canaries; the value is the broker's reason.
        case refused(String)
    }

    /// Sends canaries until the drain, while the lane can receive them.
    ///
    /// `age` shows their time in flight.
    func sendRepeatedly(until drain: DrainSignal, to readiness: () -> Readiness, _ age: Gauge) async {
        while !drain.isDraining, !Task.isCancelled {
            let now = time.steady()
            if flight.withLock({ $0.isDue(at: now) }) {
                switch readiness() {
                // A message would wait for the end of the alarm, and a drain for the message.
                case _ where publisher.isBlocked: flight.withLock { $0.missed(at: now, PublishOutcome.alarm) }
                case .free where publisher.isConnected: send(at: now)
                case .free, .away: flight.withLock { $0.missed(at: now, "the broker is unavailable") }
                case .refused(let why): flight.withLock { $0.kept(at: now, why) }
                }
            }
            let (pause, span) = flight.withLock { ($0.pause(at: time.steady()), $0.age(at: time.steady())) }
            age.set(span.secondsAsDouble)
            await drain.pause(for: pause)
        }
    }

    /// Sends a canary without waiting for its confirm, which an unresponsive broker delays by a minute; a drain must
    /// not wait for it.
    private func send(at now: ContinuousClock.Instant) {
        flight.withLock { $0.sent(at: now) }
        let message = OutgoingMessage(exchange: exchange, routingKey: key, body: Array("canary".utf8))
        Task { [self] in
            let outcome = await publisher.publish([message]).first
            if let trouble = trouble(outcome) { flight.withLock { $0.failed(trouble) } }
        }
    }

    private func trouble(_ outcome: PublishOutcome?) -> String? {
        switch outcome {
        case .confirmed?: nil
        case _ where publisher.isBlocked: PublishOutcome.alarm
        case .unroutable?: "the broker has no queue for it; see the log"
        case .notSent(let why)?, .unknown(let why)?, .unwritable(let why)?, .tooLarge(let why)?: why
        case .refused?, nil: "rejected by the broker"
        }
    }

    /// Whether a message is a canary of this lane.
    func isOwn(_ message: IncomingMessage) -> Bool { message.queue == key }

    /// Records in the database that the lane has consumed a canary.
    ///
    /// The time is limited, because an unresponsive database must not delay a drain.
    func noteReturn() async {
        let written = Task { [book, process] () -> String? in
            do throws(StoreError) {
                return try await book.hear(process) ? nil : "the database does not know this process yet"
            } catch {
                return "the database write failed: \(error)"
            }
        }
        let timer = Task { [time] in
            if (try? await time.sleep(for: Self.patience)) != nil { written.cancel() }
        }
        let trouble = await written.value
        timer.cancel()
        flight.withLock { flight in
            if let trouble { flight.failed(trouble) } else { flight.cameBack() }
        }
    }

    private static let patience = Duration.seconds(5)
}

/// The state of a canary: a pure state machine whose input is events and whose output is the problem.
///
/// A problem lasts until a canary has returned. A broker that accepts messages for one second per minute is not ready
/// while no canary passes.
struct CanaryState {
    /// The time after which a canary is late.
    ///
    /// A loaded lane needs seconds, and an operator must learn about minutes.
    static let patience = Duration.seconds(15)
    /// The time from a canary's return to the next one.
    static let rest = Duration.seconds(10)
    /// The time to the next canary after one that was not sent or could not be recorded.
    static let breath = Duration.seconds(1)

    /// The time of the first canary since the last return; `nil` if none is in flight.
    private var since: ContinuousClock.Instant?
    private var latestSent: ContinuousClock.Instant?
    private var hasComeBack = false
    private var trouble: String?
    /// Whether the lane can receive no canary at all.
    private var isKept = false

    /// Whether another canary must be sent: none is in flight, or it may be lost because it is late.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let latestSent else { return true }
        return latestSent.duration(to: now) >= (trouble == nil ? Self.rest : Self.breath)
    }

    /// Returns the time until the next check; short for a worker that has just started, so that it is ready soon.
    func pause(at now: ContinuousClock.Instant) -> Duration {
        if isKept { return Self.breath }
        guard hasComeBack else { return Self.breath / 10 }
        guard since == nil, let latestSent else { return Self.breath }
        return max(Self.breath, Self.rest - latestSent.duration(to: now))
    }

    mutating func sent(at now: ContinuousClock.Instant) {
        since = since ?? now
        latestSent = now
        (trouble, isKept) = (nil, false)
    }

    /// Notes that a canary was due, but could not be sent or received.
    mutating func missed(at now: ContinuousClock.Instant, _ why: String) {
        since = since ?? now
        (trouble, isKept) = (why, false)
    }

    /// Notes that a canary was due, but the broker rejects the lane's queue for it.
    mutating func kept(at now: ContinuousClock.Instant, _ why: String) {
        missed(at: now, why)
        isKept = true
    }

    /// Notes that a canary was not sent or could not be recorded.
    mutating func failed(_ why: String) {
        trouble = why
    }

    mutating func cameBack() {
        (since, trouble, hasComeBack, isKept) = (nil, nil, true, false)
    }

    /// Returns the time in flight of the first canary that has not returned; zero if there is none.
    func age(at now: ContinuousClock.Instant) -> Duration { since.map { $0.duration(to: now) } ?? .zero }

    /// Returns the text of the problem; `nil` if there is none.
    func whatIsWrong(at now: ContinuousClock.Instant) -> String? {
        let span = age(at: now)
        if isKept, let trouble {
            return "it takes messages, and may have no canary to prove it: \(trouble); "
                + "see docs/topology.md, The broker"
        }
        guard hasComeBack, span <= Self.patience else {
            let isLate = hasComeBack || span > Self.patience
            let course = isLate ? "has been in flight for \(span.inSeconds)" : "is not back yet"
            let why = trouble ?? (since == nil ? nil : "not consumed")
            return "its canary \(course)" + (why.map { ": \($0)" } ?? "")
        }
        return nil
    }
}

extension Duration {
    /// Whole seconds, so that two checks within one second have the same text.
    fileprivate var inSeconds: String { "\(components.seconds) s" }
}
