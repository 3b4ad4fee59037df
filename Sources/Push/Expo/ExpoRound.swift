import BellhopRules
import HTTPTransfer

/// One batch on its way through Expo: the requests that are still to be made, and the verdicts so far.
struct ExpoRound {
    /// A message that has no verdict yet.
    struct Waiting {
        /// Its place in the batch.
        let index: Int
        let token: String
        let body: [UInt8]
    }

    /// What one request carries; never empty, never more than Expo takes.
    private(set) var requests: [[Waiting]] = []

    /// In the order of the batch; a message that waits is unknown, which is what it would be if nobody came back.
    private(set) var verdicts: [Verdict]

    /// The largest number of projects that one request turned out to mix.
    private(set) var projects = 1

    /// Messages of one request at most.
    static let limit = 100

    private static let unanswered = Verdict.unknown(.library, notBefore: ExpoAnswer.shortestWait)

    init(_ batch: [PushMessage], now: Timestamp) {
        verdicts = Array(repeating: Self.unanswered, count: batch.count)
        var waiting: [Waiting] = []
        for (index, message) in batch.enumerated() {
            // Expo reaches phones; browsers have no tokens of its kind.
            if message.device.provider != .expo || message.device.platform == .web {
                verdicts[index] = .payloadError(.wrongProvider)
            } else if let body = ExpoMessage.bytes(of: message, now: now) {
                waiting.append(Waiting(index: index, token: message.device.token.text, body: body))
            } else {
                verdicts[index] = .payloadError(.payloadTooLarge)
            }
        }
        requests = Self.split(waiting, by: Self.limit)
    }

    /// The body of a request: its messages as an array.
    static func body(_ messages: [Waiting]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(messages.reduce(2) { $0 + $1.body.count + 1 })
        for message in messages {
            bytes.append(UInt8(ascii: bytes.isEmpty ? "[" : ","))
            bytes += message.body
        }
        bytes.append(UInt8(ascii: "]"))
        return bytes
    }

    /// Takes one outcome for each request, in their order; what is to be sent again waits in new, smaller requests.
    mutating func take(_ outcomes: [TransferOutcome]) {
        var next: [[Waiting]] = []
        for (messages, outcome) in zip(requests, outcomes) {
            switch ExpoAnswer.read(outcome, count: messages.count) {
            case .verdicts(let verdicts):
                for (message, verdict) in zip(messages, verdicts) { self.verdicts[message.index] = verdict }
            case .all(let verdict): settle(messages, verdict)
            case .halve(let verdict):
                if messages.count > 1 { next += Self.halves(messages) } else { settle(messages, verdict) }
            case .mixed(let tokens):
                projects = max(projects, tokens.count)
                guard messages.count > 1 else {
                    settle(messages, .configError(.unexpectedAnswer, scope: .provider))
                    continue
                }
                next += Self.separated(messages, tokens)
            }
        }
        requests = next
    }

    /// Time is up: what waits was refused as part of a request, so none of it went out.
    mutating func giveUpWaiting() {
        for messages in requests {
            settle(messages, .retry(.unavailable, notBefore: ExpoAnswer.shortestWait, scope: .message))
        }
        requests = []
    }

    private mutating func settle(_ messages: [Waiting], _ verdict: Verdict) {
        for message in messages { verdicts[message.index] = verdict }
    }

    /// Each project's messages by themselves, those that Expo does not name in halves of their own.
    ///
    /// Always smaller than what it was given, so that this comes to an end.
    private static func separated(_ messages: [Waiting], _ tokensByProject: [String: [String]]) -> [[Waiting]] {
        var projects: [String: String] = [:]
        for (project, tokens) in tokensByProject { for token in tokens { projects[token] = project } }
        let groups = Dictionary(grouping: messages) { projects[$0.token] ?? "" }
        guard groups.count > 1 else { return halves(messages) }
        return groups.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func halves(_ messages: [Waiting]) -> [[Waiting]] {
        split(messages, by: (messages.count + 1) / 2)
    }

    private static func split(_ messages: [Waiting], by size: Int) -> [[Waiting]] {
        stride(from: 0, to: messages.count, by: size).map { start in
            Array(messages[start..<min(start + size, messages.count)])
        }
    }
}
