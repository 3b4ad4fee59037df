package import BellhopRules

/// An operator's order for a replay: the items and the rate.
package struct ReplayOrder: Sendable {
    package var filter: DeadLetterFilter
    package var limits: ReplayLimits
    package var pace: Pace

    package init(_ filter: DeadLetterFilter, limits: ReplayLimits, pace: Pace) {
        self.filter = filter.with(state: .open)
        self.limits = limits
        self.pace = pace
    }

    /// The rate of a replay, and the conditions under which it pauses automatically.
    package struct Pace: Sendable, Equatable {
        /// Items per second; `nil` for as many as the replay lane accepts.
        package var rate: Int?
        /// Whether it begins with one item, then two, five, ten and so on, each step only after the previous items have
        /// an outcome.
        package var isRamped: Bool
        /// The share of failures among the latest outcomes, in per cent, at which the replay pauses.
        package var pauseShare: Int
        /// When it begins to send; `nil` for immediately.
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

    /// The filter without items that a replay may not take.
    package var eligible: DeadLetterFilter {
        var eligible = filter
        eligible.replayable = limits
        return eligible
    }
}

/// The numbers of items that a replay would take and would omit.
package struct ReplaySurvey: Sendable, Equatable {
    package let eligible: DeadLetterCount
    package let tooOften: Int
    package let tooOld: Int
    /// The number of items of which only the beginning of the body is stored.
    package let cut: Int
}

/// The result of an order.
package enum ReplayStart: Sendable, Equatable {
    case started(id: Int64, items: Int)
    /// Another replay contains some of these items.
    case overlaps(id: Int64)
    /// More items match than the operator has confirmed. Nothing has begun.
    case moreThanAgreed(items: Int)
    case nothingToDo
}
