import ServiceRuntime

/// Where a canary is: a pure machine, what happens to it in, what is wrong out.
///
/// What was wrong once stays so until one has come back: a broker that takes messages for a second in every minute is not
/// ready for as long as no canary gets through.
struct CanaryFlight {
    /// How long one may take before that is a fault: a loaded lane needs seconds, and an operator wants to know of minutes.
    static let patience = Duration.seconds(15)
    /// From one that is back to the next.
    static let rest = Duration.seconds(10)
    /// How soon another follows one that did not get away, or that nobody could write down.
    static let breath = Duration.seconds(1)

    /// When the first one was sent of those since the last that came back; nil where none is under way.
    private var since: ContinuousClock.Instant?
    private var latestSent: ContinuousClock.Instant?
    private var hasComeBack = false
    private var trouble: String?
    /// Whether none may be sent at all.
    private var isKept = false

    /// Whether another is to be sent: none is under way, or so long that it may be lost.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard let latestSent else { return true }
        return latestSent.duration(to: now) >= (trouble == nil ? Self.rest : Self.breath)
    }

    /// Until there may be something to do; a worker that has just started is to be ready soon.
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

    /// It was time for one, and nobody was there to send it or to take it.
    mutating func missed(at now: ContinuousClock.Instant, _ why: String) {
        since = since ?? now
        (trouble, isKept) = (why, false)
    }

    /// It was time for one, and the broker lets the lane have none.
    mutating func kept(at now: ContinuousClock.Instant, _ why: String) {
        missed(at: now, why)
        isKept = true
    }

    /// It did not get away, or nobody could write it down.
    mutating func failed(_ why: String) {
        trouble = why
    }

    mutating func cameBack() {
        (since, trouble, hasComeBack, isKept) = (nil, nil, true, false)
    }

    /// How long the first one has been under way that is not back; zero where none is.
    func age(at now: ContinuousClock.Instant) -> Duration { since.map { $0.duration(to: now) } ?? .zero }

    /// In words; nil where nothing is.
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
    /// Whole ones, so that two looks in a second say the same.
    fileprivate var inSeconds: String { "\(components.seconds) s" }
}
