/// Detects a replay without progress, from polls at four per second.
///
/// A scheduler that cannot reach the broker drops the replay and resumes it repeatedly. It is therefore not sufficient
/// that a scheduler is running the replay now. Only a settled item proves progress.
struct ReplayStandstill: Equatable {
    /// Consecutive polls in which no scheduler ran the replay.
    private var uncarried = 0
    /// Polls since an item was settled.
    private var still = 0
    /// Whether no scheduler ran the replay for some time since then.
    private var wasLeft = false
    private var settled = 0

    mutating func note(settled: Int, isCarried: Bool) {
        still += 1
        uncarried = isCarried ? 0 : uncarried + 1
        if settled != self.settled {
            self.settled = settled
            still = 0
            wasLeft = false
        }
        if uncarried >= Self.patience { wasLeft = true }
    }

    /// Whether the cause should be reported, which is once each time that the schedulers drop the replay.
    var isWorthAWord: Bool { uncarried == Self.patience }

    /// Whether a scheduler runs the replay and has settled nothing for a while, reported once.
    ///
    /// A slow rate has the same effect as a broker without answers, so the cause must be checked.
    var isStill: Bool { still == Self.patience && uncarried < Self.patience }

    /// Whether watching should end.
    var isOver: Bool { wasLeft && still >= Self.endurance }

    /// Polls: five seconds.
    private static let patience = 20
    /// Polls: two minutes.
    private static let endurance = 480
}
