import BellhopRules
import HTTPTransfer

/// One batch on its way through FCM: which messages still wait for an accepted token, and the verdicts so far.
struct FCMRound {
    /// A message that has no verdict yet.
    struct Waiting {
        /// Its place in the batch.
        let index: Int
        let body: [UInt8]
    }

    private(set) var waiting: [Waiting] = []

    /// In the order of the batch; a message that waits is unknown, which is what it would be if nobody came back.
    private(set) var verdicts: [Verdict]

    private static let unanswered = Verdict.unknown(.library, notBefore: FCMAnswer.shortestWait)

    init(_ batch: [PushMessage], now: Timestamp) {
        verdicts = Array(repeating: Self.unanswered, count: batch.count)
        waiting.reserveCapacity(batch.count)
        for (index, message) in batch.enumerated() {
            if message.device.provider != .fcm {
                verdicts[index] = .payloadError(.wrongProvider)
            } else if let body = FCMRequest.body(of: message, now: now) {
                waiting.append(Waiting(index: index, body: body))
            } else {
                verdicts[index] = FCMRequest.refusal(of: message)
            }
        }
    }

    /// Takes one outcome for each message that waits, in their order; whoever's token was not accepted waits on.
    mutating func take(_ outcomes: [TransferOutcome]) {
        var stale: [Waiting] = []
        for (waiting, outcome) in zip(waiting, outcomes) {
            switch FCMAnswer.read(outcome) {
            case .verdict(let verdict): verdicts[waiting.index] = verdict
            case .staleAccessToken: stale.append(waiting)
            }
        }
        waiting = stale
    }

    mutating func refuseWaiting(_ refusal: StandingRefusal) {
        settleWaiting(refusal.verdict(shortestWait: FCMAnswer.shortestWait))
    }

    /// Not even a fresh token was accepted.
    mutating func giveUpWaiting() {
        settleWaiting(.configError(.unauthenticated, scope: .provider))
    }

    private mutating func settleWaiting(_ verdict: Verdict) {
        for waiting in waiting { verdicts[waiting.index] = verdict }
        waiting = []
    }
}
