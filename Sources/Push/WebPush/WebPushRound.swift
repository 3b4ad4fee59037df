import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime

/// One batch on its way to the browsers: which messages have no verdict yet, and the verdicts so far.
struct WebPushRound {
    /// A message that has no verdict yet.
    struct Waiting {
        /// Its place in the batch.
        let index: Int
        let key: VAPIDKey
        let origin: String
        /// Whether its subscription says which key it was made with.
        let namesKey: Bool
        var request: TransferRequest

        /// The first of the request's headers.
        var authorization: String {
            get { request.headers[0].value }
            set { request.headers[0].value = newValue }
        }
    }

    private(set) var waiting: [Waiting] = []

    /// In the order of the batch; a message that waits is unknown, which is what it would be if nobody came back.
    private(set) var verdicts: [Verdict]

    private static let unanswered = Verdict.unknown(.library, notBefore: WebPushAnswer.shortestWait)

    private static let unencrypted = Verdict.retry(
        .library,
        notBefore: WebPushAnswer.shortestWait,
        scope: .message
    )

    /// A host that takes connections and says nothing must not hold its batch for long.
    private static let timeouts = TransferTimeouts(total: .seconds(10), connect: .seconds(5))

    init(_ batch: [PushMessage], _ desk: WebPushDesk, now: Instant) {
        verdicts = Array(repeating: Self.unanswered, count: batch.count)
        waiting.reserveCapacity(batch.count)
        for (index, message) in batch.enumerated() {
            switch Self.prepare(message, index, desk, now) {
            case .success(let waiting): self.waiting.append(waiting)
            case .failure(let refusal): verdicts[index] = refusal.verdict
            }
        }
    }

    /// Takes one outcome for each message that waits, in their order; whoever's sign-in was not accepted waits on.
    ///
    /// A browser is believed to have subscribed with another key only while others take ours: a wrong key in the
    /// configuration must not cost anybody a subscription.
    mutating func take(_ outcomes: [TransferOutcome], _ tokens: VAPIDTokens) {
        var stale: [Waiting] = []
        let readings = zip(waiting, outcomes).map { ($0, WebPushAnswer.read($1, namesKey: $0.namesKey)) }
        for case (let waiting, .verdict(.delivered)) in readings { tokens.prove(waiting.key) }
        for (waiting, reading) in readings {
            switch reading {
            case .verdict(.deviceGone(.vapidMismatch, _)) where !tokens.isProven(waiting.key):
                verdicts[waiting.index] = .configError(.vapidMismatch, scope: .device)
            case .verdict(let verdict): verdicts[waiting.index] = verdict
            case .staleAuthorization: stale.append(waiting)
            }
        }
        waiting = stale
    }

    /// Signs in anew for what waits; where nothing new can be said, it stays refused.
    mutating func renewSignIn(_ tokens: VAPIDTokens, now: Instant) {
        var renewed: [Waiting] = []
        for var waiting in waiting {
            let fresh = try? tokens.authorization(
                waiting.key,
                for: waiting.origin,
                insteadOf: waiting.authorization,
                now: now
            )
            guard let fresh else {
                verdicts[waiting.index] = WebPushAnswer.refused
                continue
            }
            waiting.authorization = fresh
            renewed.append(waiting)
        }
        waiting = renewed
    }

    /// Not even a fresh sign-in was accepted.
    mutating func giveUpWaiting() {
        for waiting in waiting { verdicts[waiting.index] = WebPushAnswer.refused }
        waiting = []
    }

    private static func prepare(
        _ message: PushMessage,
        _ index: Int,
        _ desk: WebPushDesk,
        _ now: Instant
    ) -> Result<Waiting, Refusal> {
        do throws(Refusal) {
            let address = try desk.address(of: message)
            guard let payload = WebPushPayload.bytes(of: message, atMost: WebPushPadding.longest(at: address.host))
            else { throw Refusal(.payloadError(.payloadTooLarge)) }
            let body = try encrypted(payload, for: address.keys)
            guard let authorization = try? desk.tokens.authorization(address.key, for: address.origin, now: now) else {
                throw Refusal(unencrypted)
            }
            let headers = WebPushRequest.headers(of: message, now: Timestamp(clamping: now.microseconds))
            let request = TransferRequest(
                .post,
                url: message.device.token.text,
                headers: [("authorization", authorization)] + headers,
                body: body,
                timeouts: timeouts
            )
            return .success(
                Waiting(
                    index: index,
                    key: address.key,
                    origin: address.origin,
                    namesKey: address.keys.vapidKeyID != nil,
                    request: request
                )
            )
        } catch {
            return .failure(error)
        }
    }

    private static func encrypted(_ payload: [UInt8], for keys: WebPushKeys) throws(Refusal) -> [UInt8] {
        // A failure of our own must not look like one of the browser's key.
        guard let freshness = try? WebPushContent.Freshness.draw() else { throw Refusal(unencrypted) }
        do throws(CryptographyError) {
            return try WebPushContent.body(
                payload,
                paddedTo: WebPushPadding.length(for: payload.count),
                for: keys,
                with: freshness
            )
        } catch {
            throw Refusal(error.code == .invalidKey ? .payloadError(.subscriptionUnusable) : unencrypted)
        }
    }

    /// Why a message is not even sent.
    struct Refusal: Error {
        let verdict: Verdict

        init(_ verdict: Verdict) {
            self.verdict = verdict
        }
    }
}
