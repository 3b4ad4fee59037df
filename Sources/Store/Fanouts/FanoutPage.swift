package import BellhopRules
import Postgres

/// A page of a fan-out: a range of its audience that one worker takes at once.
package struct FanoutPage: Sendable, Hashable {
    /// The number of the fan-out.
    package let fanout: Int64
    /// Counted from zero.
    package let page: Int64
    /// What its event is to those who hear of it; it decides in whose lane the page goes.
    package let priority: Priority

    package init(fanout: Int64, page: Int64, priority: Priority) {
        self.fanout = fanout
        self.page = page
        self.priority = priority
    }
}

/// What taking a page led to.
package enum TakenPage: Sendable {
    /// It is to be worked on.
    case open(OpenPage)
    /// Its fan-out is paused or was cancelled, the page is finished, or another has it: there is nothing to do with it.
    case over
}

/// A page in the hands of a worker.
package struct OpenPage: Sendable {
    package let app: AppID
    /// JSON: the event as it was kept.
    package let content: [UInt8]
    package let contentHash: ContentHash
    /// Pages that were planned meanwhile, and such as no message may name.
    package let further: [FanoutPage]
    /// How long ago its fan-out began, or was resumed.
    package let age: Duration
    let range: Range

    /// Whose ids are beyond `after` and not beyond `upto`, as far as they were meant at `snapshot`.
    struct Range: Sendable {
        let app: AppID
        /// Nil for everyone.
        let topic: String?
        /// Microseconds since 1970, by the database's clock.
        let snapshot: Int64
        let after: String
        let upto: String
    }
}

/// What has become of a page, in figures for whoever watches the fan-out.
package struct PageTally: Sendable {
    package var users = 0
    package var recorded = 0
    /// Deliveries that went out at once.
    package var sent = 0

    package init() {}
}
