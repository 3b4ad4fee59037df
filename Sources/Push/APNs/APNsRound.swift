import BellhopRules
import HTTPTransfer

/// A part of a batch on its way through one of APNs' environments: what waits, and the verdicts so far.
struct APNsRound {
    /// What can be mended once.
    enum Trouble {
        case expiredToken
        case unrelatedKey

        /// What it means where mending did not help.
        var verdict: Verdict {
            switch self {
            case .expiredToken: .configError(.expiredProviderToken, scope: .provider)
            case .unrelatedKey: .configError(.unrelatedKeyID, scope: .provider)
            }
        }
    }

    /// What the answers ask for beside verdicts.
    enum Need: Hashable {
        case newConnection
        case rest
    }

    /// A message that has no verdict yet.
    struct Waiting {
        /// Its place in the part.
        let index: Int
        let push: APNsPush
        var trouble: Trouble?
    }

    private(set) var waiting: [Waiting] = []
    private(set) var needs: Set<Need> = []

    /// In the order of the part; a message that waits is unknown, which is what it would be if nobody came back.
    private(set) var verdicts: [Verdict]

    /// Nobody came back with anything better.
    static let unanswered = Verdict.unknown(.library, notBefore: APNsAnswer.shortestWait)

    init(_ batch: [PushMessage], topic: String) {
        verdicts = Array(repeating: Self.unanswered, count: batch.count)
        waiting.reserveCapacity(batch.count)
        for (index, message) in batch.enumerated() {
            switch APNsPush.draft(of: message, topic: topic) {
            case .push(let push): waiting.append(Waiting(index: index, push: push))
            case .refused(let verdict): verdicts[index] = verdict
            }
        }
    }

    /// Takes one outcome for each message that waits, in their order; what can be mended waits on.
    mutating func take(_ outcomes: [TransferOutcome]) {
        var troubled: [Waiting] = []
        needs = []
        for (var waiting, outcome) in zip(waiting, outcomes) {
            switch APNsAnswer.read(outcome) {
            case .verdict(let verdict): verdicts[waiting.index] = verdict
            case .staleConnection(let verdict):
                verdicts[waiting.index] = verdict
                needs.insert(.newConnection)
            case .tooManyTokens:
                verdicts[waiting.index] = .configError(.tooManyProviderTokenUpdates, scope: .provider)
                needs.insert(.rest)
            case .expiredToken:
                waiting.trouble = .expiredToken
                troubled.append(waiting)
            case .unrelatedKey:
                waiting.trouble = .unrelatedKey
                troubled.append(waiting)
                needs.insert(.newConnection)
            }
        }
        waiting = troubled
    }

    /// Whether a message waits because its token was too old.
    var wantsFreshToken: Bool { waiting.contains { $0.trouble == .expiredToken } }

    /// There is no token for what waits.
    mutating func refuseWaiting(_ refusal: ProviderTokenRefusal) {
        for waiting in waiting { verdicts[waiting.index] = refusal.verdict }
        waiting = []
    }

    /// What was mended did not help.
    mutating func giveUpWaiting() {
        for waiting in waiting { verdicts[waiting.index] = waiting.trouble?.verdict ?? Self.unanswered }
        waiting = []
    }
}
