package import BellhopRules

/// What a replay may take.
package struct ReplayLimits: Sendable, Equatable {
    /// Replays that one item may have had before; what has died more often needs more than another try.
    package var perItem: Int
    /// Failed first at this instant or later: what is older, the guard against doubles may have forgotten.
    package var failedSince: Timestamp

    package init(perItem: Int, failedSince: Timestamp) {
        self.perItem = perItem
        self.failedSince = failedSince
    }

    package static let usualPerItem = 5
}
