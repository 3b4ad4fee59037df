package import BellhopRules

/// What an operator wants to be replayed, and how fast.
package struct ReplayOrder: Sendable {
    package var filter: DeadLetterFilter
    package var limits: ReplayLimits
    package var pace: Pace

    package init(_ filter: DeadLetterFilter, limits: ReplayLimits, pace: Pace) {
        self.filter = filter.with(state: .open)
        self.limits = limits
        self.pace = pace
    }

    /// How fast it goes, and when it stops by itself.
    package struct Pace: Sendable, Equatable {
        /// Items a second; nil for as many as the replay lane takes.
        package var rate: Int?
        /// One item, then two, five, ten, …, each time only once the ones before have an outcome.
        package var isRamped: Bool
        /// It pauses when this share of its latest outcomes were failures, in per cent.
        package var pauseShare: Int
        /// When it begins to send; nil for at once.
        package var notBefore: Timestamp?

        package init(
            rate: Int? = nil,
            isRamped: Bool = false,
            pauseShare: Int = 20,
            notBefore: Timestamp? = nil
        ) {
            self.rate = rate
            self.isRamped = isRamped
            self.pauseShare = pauseShare
            self.notBefore = notBefore
        }
    }

    /// The filter, less what a replay may not take.
    package var eligible: DeadLetterFilter {
        var eligible = filter
        eligible.replayable = limits
        return eligible
    }
}

/// What a replay would take, and what it would leave behind.
package struct ReplaySurvey: Sendable, Equatable {
    package let eligible: DeadLetterCount
    package let tooOften: Int
    package let tooOld: Int
    /// Of their bodies only the beginning is left.
    package let cut: Int
}

/// What became of an order.
package enum ReplayStart: Sendable, Equatable {
    case started(id: Int64, items: Int)
    /// Another replay holds some of these items.
    case overlaps(id: Int64)
    /// More items are meant than the operator has agreed to; nothing has begun.
    case moreThanAgreed(items: Int)
    case nothingToDo
}
