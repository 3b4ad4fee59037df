import BellhopRules
@testable import HTTPTransfer
import Synchronization
import Testing

/// A transport with a closure that gives the answers of FCM and Google, one request after another.
final class ScriptedTransport: HTTPTransport {
    typealias Answerer = @Sendable (TransferRequest) async -> TransferOutcome

    private let answerer: Answerer
    private let kept = Mutex<[TransferRequest]>([])
    private let closings = Mutex(0)
    private let retirements = Mutex<[Int]>([])

    init(_ answerer: @escaping Answerer) {
        self.answerer = answerer
    }

    /// All requests so far, in the order of their arrival.
    var requests: [TransferRequest] { kept.withLock { $0 } }

    var closeCount: Int { closings.withLock { $0 } }

    func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        kept.withLock { $0 += requests }
        var outcomes: [TransferOutcome] = []
        for request in requests { outcomes.append(await answerer(request)) }
        return outcomes
    }

    /// The number of requests before each retirement of its connections.
    var retiredAfter: [Int] { retirements.withLock { $0 } }

    func retireConnections() {
        let count = requests.count
        retirements.withLock { $0.append(count) }
    }

    func close() async {
        closings.withLock { $0 += 1 }
    }
}

extension TransferOutcome {
    static func answer(
        _ status: Int,
        _ body: String = "",
        retryAfter: Int? = nil,
        lines: String = ""
    ) -> TransferOutcome {
        .answered(
            TransferAnswer(
                status: status,
                headers: AnswerHeaders(lines: Array(lines.utf8)),
                body: Array(body.utf8),
                isBodyTruncated: false,
                version: .http2,
                newConnections: 0,
                retryAfterSeconds: retryAfter
            )
        )
    }

    /// Returns Google's answer with an access token.
    static func token(_ text: String, lifetime: Int = 3600) -> TransferOutcome {
        .answer(200, #"{"access_token":"\#(text)","expires_in":\#(lifetime),"token_type":"Bearer"}"#)
    }
}

extension TransferRequest {
    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// The device token of a request to FCM.
    var deviceToken: String? {
        (try? ReadBody(body))?["/token"]?.string
    }
}

/// A gate that blocks its callers until it is opened.
actor AsyncLatch {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        guard !isOpen else { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
