package import BellhopRules
import HTTPTransfer
import ServiceRuntime

/// Sends one app's messages through FCM's HTTP v1 API.
///
/// All requests of a batch share one access token. Where FCM does not accept it, one fresh token is fetched and the
/// messages concerned are sent once more; what is refused then is a config error.
package struct FCMSender: PushSender {
    package var provider: PushProvider { .fcm }

    /// FCM's scheme, host and port, without a slash at the end.
    let endpoint: String
    let projectID: String
    let tokens: AccessTokenSource
    let transport: any HTTPTransport
    var time: any TimeSource = SystemTime()
    var metrics: PushMetrics.ForSender?
    package var window = Int.max
    package var budget: PushBudget?

    /// Whether FCM shall only say what it would do, and show nothing to anybody.
    package var validatesOnly = false

    /// FCM asks for ten seconds at least before giving up on an answer.
    private static let timeouts = TransferTimeouts(total: .seconds(20), connect: .seconds(10))

    package func send(_ batch: [PushMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [PushMessage]) async -> [Verdict] {
        let now = Timestamp(clamping: time.now().microseconds)
        let unanswered = Verdict.unknown(.library, notBefore: FCMAnswer.shortestWait)
        var round = Round(batch, unanswered: unanswered) { (message) throws(Refusal) -> [UInt8] in
            guard message.device.provider == .fcm else { throw Refusal(.payloadError(.wrongProvider)) }
            if let body = FCMRequest.body(of: message, now: now) { return body }
            throw Refusal(FCMRequest.refusal(of: message))
        }
        guard !round.waiting.isEmpty else { return round.verdicts }
        switch await tokens.token() {
        case .failure(let refusal): round.refuse(refusal)
        case .success(let token):
            await send(&round, with: token)
            guard !round.waiting.isEmpty else { break }
            switch await tokens.token(insteadOf: token) {
            case .failure(let refusal): round.refuse(refusal)
            case .success(let fresh):
                await send(&round, with: fresh)
                // Not even a fresh token was accepted.
                round.settle { _ in .configError(.unauthenticated, scope: .provider) }
            }
        }
        return round.verdicts
    }

    private func send(_ round: inout Round<[UInt8]>, with token: AccessToken) async {
        let url = endpoint + "/v1/projects/" + projectID + "/messages:send"
        // One array for all requests, so that a header costs a batch and not a message.
        let headers: [TransferRequest.Header] = [
            ("authorization", token.authorization), ("content-type", "application/json"),
        ]
        let requests = round.waiting.map { waiting in
            TransferRequest(
                .post,
                url: url,
                headers: headers,
                body: validatesOnly ? Self.rehearsal(of: waiting.draft) : waiting.draft,
                timeouts: Self.timeouts
            )
        }
        round.take(await transport.send(requests)) { _, outcome in
            switch FCMAnswer.read(outcome) {
            case .verdict(let verdict): verdict
            case .staleAccessToken: nil
            }
        }
    }

    /// The same body with one more member, in front.
    private static func rehearsal(of body: [UInt8]) -> [UInt8] {
        Array(#"{"validate_only":true,"#.utf8) + body.dropFirst()
    }
}

extension Round {
    /// There is no token for what waits.
    fileprivate mutating func refuse(_ refusal: StandingRefusal) {
        let verdict = refusal.verdict(shortestWait: FCMAnswer.shortestWait)
        settle { _ in verdict }
    }
}
