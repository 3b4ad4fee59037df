import BellhopRules
import HTTPTransfer

/// The processing of one batch by Expo: the remaining requests, and the verdicts so far.
struct ExpoBatchProgress {
    /// A message without a verdict.
    struct Waiting {
        /// The position in the batch.
        let index: Int
        let token: String
        let body: [UInt8]
    }

    /// The messages of each request; never empty, never more than Expo accepts.
    private(set) var requests: [[Waiting]] = []

    /// The verdicts in the order of the batch.
    ///
    /// A waiting message has the verdict unknown, which applies if no answer arrives.
    private(set) var verdicts: [Verdict]

    /// The largest number of projects in one request.
    private(set) var projects = 1

    /// The maximum number of messages in one request.
    static let limit = 100

    private static let unanswered = Verdict.unknown(.library, notBefore: ExpoAnswer.shortestWait)

    init(_ batch: [PushMessage], now: Timestamp) {
        verdicts = Array(repeating: Self.unanswered, count: batch.count)
        var waiting: [Waiting] = []
        for (index, message) in batch.enumerated() {
            // Expo reaches phones; browsers have no Expo tokens.
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

    /// Returns the body of a request: its messages as an array.
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

    /// Evaluates one outcome for each request, in their order.
    ///
    /// Messages to be sent again wait in new, smaller requests.
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

    /// Ends the batch after its time limit.
    ///
    /// The waiting messages were rejected as part of a request, so none of them was sent.
    mutating func giveUpWaiting() {
        for messages in requests {
            settle(messages, .retry(.unavailable, notBefore: ExpoAnswer.shortestWait, scope: .message))
        }
        requests = []
    }

    private mutating func settle(_ messages: [Waiting], _ verdict: Verdict) {
        for message in messages { verdicts[message.index] = verdict }
    }

    /// Returns a separate request for each project's messages; messages that Expo does not name form another request.
    ///
    /// If there is only one group, it is halved. Each request is smaller than the original, so that the process ends.
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
