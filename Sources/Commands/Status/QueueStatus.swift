import BellhopRules
import Pipeline

/// One queue at one moment.
struct QueueStatus: Sendable, Equatable {
    /// What a queue is for; decides its place in the table and whether somebody should consume it.
    enum Purpose: Sendable, Equatable {
        case lane(Lane)
        case resume(Lane)
        case retry(RetryTier)
        case dead
        case replay
        case receipts
    }

    /// What waits in it and who takes it.
    struct Counts: Sendable, Equatable {
        let ready: Int
        let consumers: Int
        /// Handed to a consumer and not settled; nil where AMQP alone was asked, which cannot tell.
        var unacked: Int?
        /// When the oldest message was sent; nil where nobody can tell.
        var oldestSent: Int64?
    }

    let name: String
    let purpose: Purpose
    /// Nil where there is no such queue.
    var counts: Counts?

    /// For people.
    var title: String {
        switch purpose {
        case .lane(let lane): "\(lane.rawValue) lane"
        case .resume(let lane): "\(lane.rawValue) resumes"
        case .retry(let tier): "retry in \(tier.name)"
        case .dead: "dead letters"
        case .replay: "replays"
        case .receipts: "receipts"
        }
    }

    /// Every queue of a namespace, in the order in which people look.
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
