package import BellhopRules
package import Pipeline

/// The state of one queue at one moment.
package struct QueueStatus: Sendable, Equatable {
    /// The purpose of a queue.
    ///
    /// It determines the order in the table, and whether the queue should have consumers.
    package enum Purpose: Sendable, Equatable {
        case lane(Lane)
        case resume(Lane)
        case retry(RetryTier)
        case dead
        case replay
        case receipts
    }

    /// The numbers of messages and consumers.
    package struct Counts: Sendable, Equatable {
        package let ready: Int
        package let consumers: Int
        /// Messages that consumers hold unacknowledged, or `nil` if only AMQP was asked, which cannot report it.
        package var unacked: Int?
        /// The time at which the oldest message was sent, or `nil` if it is unknown.
        var oldestSent: Int64?
        /// The number of messages from which the broker rejects further ones, or `nil` if only AMQP was asked.
        var limit: Int?
    }

    package let name: String
    package let purpose: Purpose
    /// `nil` if the queue does not exist.
    package var counts: Counts?

    /// The number of messages from which the broker rejects further ones.
    ///
    /// Without the management API this is the limit that `topology apply` sets, which a policy of the broker may lower.
    private var limit: Int {
        counts?.limit ?? (purpose == .dead ? TopologyPlan.longestDeadLetterQueue : TopologyPlan.longestQueue)
    }

    /// Whether the broker rejects further messages.
    var isFull: Bool { (counts?.ready ?? 0) >= limit }

    /// Whether it will soon be full.
    var isAlmostFull: Bool { !isFull && (counts?.ready ?? 0) >= limit / 10 * 9 && limit >= 10 }

    /// Returns the problem of a queue that is full or almost full.
    var lengthProblem: String {
        let messages = (counts?.ready ?? 0).of("message")
        let consequence =
            switch purpose {
            case .lane: "the broker rejects further events, and publishers must repeat them; start more workers"
            case .dead: "workers hold what they would dead-letter until there is room; start a scheduler"
            case .resume, .retry, .replay, .receipts:
                "workers hold their batches until there is room; start more workers"
            }
        let name =
            switch purpose {
            case .lane: "the \(title)"
            case .dead, .resume, .retry, .replay, .receipts: "the queue of \(title)"
            }
        return isFull
            ? "\(name) is full, \(messages): \(consequence)"
            : "\(name) is almost full, \(messages) of \(limit.grouped): if it is full, \(consequence)"
    }

    /// The title for people.
    package var title: String {
        switch purpose {
        case .lane(let lane): "\(lane.rawValue) lane"
        case .resume(let lane): "\(lane.rawValue) resumes"
        case .retry(let tier): "retry in \(tier.name)"
        case .dead: "dead letters"
        case .replay: "replays"
        case .receipts: "receipts"
        }
    }

    /// Returns all queues of a namespace, in the order of the table.
    static func all(names: TopologyNames, tiers: [RetryTier]) -> [QueueStatus] {
        let lanes = Lane.allCases.map { QueueStatus(name: names.lane($0), purpose: .lane($0)) }
        let resumes = Lane.allCases.map { QueueStatus(name: names.resume($0), purpose: .resume($0)) }
        let retries = tiers.map { QueueStatus(name: names.retry($0), purpose: .retry($0)) }
        return lanes + resumes + retries + [
            QueueStatus(name: names.dead, purpose: .dead), QueueStatus(name: names.replay, purpose: .replay),
            QueueStatus(name: names.receipts, purpose: .receipts),
        ]
    }
}
