import ServiceRuntime

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
