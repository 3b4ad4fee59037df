/// How long a replay has stood still, in looks at it, four a second.
///
/// A scheduler that cannot reach the broker lets go of it and takes it up again, over and over: that it is carried at this
/// moment says little, that something of it is settled says all.
struct ReplayStandstill: Equatable {
    /// Looks in a row at which nobody carried it.
    private var uncarried = 0
    /// Looks since something was settled.
    private var still = 0
    /// Whether nobody carried it for a while since then.
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

    /// Whether somebody who watches should hear why, which is once for each time that it is let go.
    var isWorthAWord: Bool { uncarried == Self.patience }

    /// Whether there is no use in watching any longer.
    var isOver: Bool { wasLeft && still >= Self.endurance }

    /// Five seconds.
    private static let patience = 20
    /// Two minutes.
    private static let endurance = 480
}
