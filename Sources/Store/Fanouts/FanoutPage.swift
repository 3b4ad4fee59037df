package import BellhopRules
import Postgres

/// A page of a fan-out: a range of its audience that one worker processes together.
package struct FanoutPage: Sendable, Hashable {
    /// The number of the fan-out.
    package let fanout: Int64
    /// The number of the page, counted from zero.
    package let page: Int64
    /// The event's priority, which selects the lane of the page.
    package let priority: Priority

    /// The default number of users per page, about as many as one statement can write.
    package static let usualSize = 1000

    package init(fanout: Int64, page: Int64, priority: Priority) {
        self.fanout = fanout
        self.page = page
        self.priority = priority
    }
}

/// The result of taking a page.
package enum PageClaimResult: Sendable {
    /// The page is to be processed.
    case open(ClaimedPage)
    /// There is nothing to process: the fan-out is paused or cancelled, the page is finished, or another batch has
    /// taken it.
    case over
}

/// A page that a worker has taken.
package struct ClaimedPage: Sendable {
    package let app: AppID
    /// The stored event, as JSON.
    package let content: [UInt8]
    package let contentHash: ContentHash
    /// Further pages to publish: newly planned pages, and untaken pages that may have no message.
    package let further: [FanoutPage]
    /// The time since the fan-out began or was resumed.
    package let age: Duration
    let range: Range

    /// The users with ids after `after` and up to `upto` who belonged to the audience at `snapshot`.
    struct Range: Sendable {
        let app: AppID
        /// The topic; `nil` for everyone.
        let topic: String?
        /// Microseconds since 1970, by the database clock.
        let snapshot: Int64
        let after: String
        let upto: String
    }
}

/// The result of a page in figures, as shown in the fan-out's progress.
package struct PageCounts: Sendable {
    package var users = 0
    package var recorded = 0
    /// The number of deliveries that were due immediately.
    package var sent = 0

    package init() {}
}
