package import BellhopRules

/// Limits the items that a replay may take.
package struct ReplayLimits: Sendable, Equatable {
    /// The maximum number of earlier replays of an item.
    ///
    /// An item that failed more often needs more than another attempt.
    package var perItem: Int
    /// The earliest first failure.
    ///
    /// For older items, the ids that detect duplicates may have been deleted.
    package var failedSince: Timestamp

    package init(perItem: Int, failedSince: Timestamp) {
        self.perItem = perItem
        self.failedSince = failedSince
    }

    package static let usualPerItem = 5
}
