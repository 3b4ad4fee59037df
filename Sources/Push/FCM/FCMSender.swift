package import BellhopRules
import HTTPTransfer
import ServiceRuntime

/// Sends one app's messages through FCM's HTTP v1 API.
///
/// All requests of a batch share one access token. If FCM rejects it, one new token is fetched and the affected
/// messages are sent once again. A second rejection is a configuration error.
package struct FCMSender: PushSender {
    package var provider: PushProvider { .fcm }

    /// FCM's scheme, host and port, without a trailing slash.
    let endpoint: String
    let projectID: String
    let tokens: AccessTokenSource
    let transport: any HTTPTransport
    var time: any TimeSource = SystemTime()
    var metrics: PushMetrics.SenderMetrics?
    package var window = Int.max
    package var budget: PushBudget?

    /// Whether FCM only validates messages and delivers none of them.
    package var validatesOnly = false

    /// The time limits of a request.
    ///
    /// FCM asks clients to wait at least ten seconds for an answer.
    private static let timeouts = TransferTimeouts(total: .seconds(20), connect: .seconds(10))

    package func send(_ batch: [PushMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [PushMessage]) async -> [Verdict] {
        let now = Timestamp(clamping: time.now().microseconds)
        let unanswered = Verdict.unknown(.library, notBefore: FCMAnswer.shortestWait)
        var progress = ProviderBatch(batch, unanswered: unanswered) { (message) throws(MessageRefusal) -> [UInt8] in
            guard message.device.provider == .fcm else { throw MessageRefusal(.payloadError(.wrongProvider)) }
            if let body = FCMRequest.body(of: message, now: now) { return body }
            throw MessageRefusal(FCMRequest.refusal(of: message))
        }
        guard !progress.waiting.isEmpty else { return progress.verdicts }
        switch await tokens.token() {
        case .failure(let refusal): progress.refuse(refusal)
        case .success(let token):
            await send(&progress, with: token)
            guard !progress.waiting.isEmpty else { break }
            switch await tokens.token(insteadOf: token) {
            case .failure(let refusal): progress.refuse(refusal)
            case .success(let fresh):
                await send(&progress, with: fresh)
                // The new token was rejected, too.
                progress.settle { _ in .configError(.unauthenticated, scope: .provider) }
            }
        }
        return progress.verdicts
    }

    private func send(_ progress: inout ProviderBatch<[UInt8]>, with token: AccessToken) async {
        let url = endpoint + "/v1/projects/" + projectID + "/messages:send"
        // All requests share one array, so that headers are created once per batch and not per message.
        let headers: [TransferRequest.Header] = [
            ("authorization", token.authorization), ("content-type", "application/json"),
        ]
        let requests = progress.waiting.map { waiting in
            TransferRequest(
                .post,
                url: url,
                headers: headers,
                body: validatesOnly ? Self.rehearsal(of: waiting.draft) : waiting.draft,
                timeouts: Self.timeouts
            )
        }
        progress.take(await transport.send(requests)) { _, outcome in
            switch FCMAnswer.read(outcome) {
            case .verdict(let verdict): verdict
            case .staleAccessToken: nil
            }
        }
    }

    /// Returns the same body with one more member at its beginning.
    private static func rehearsal(of body: [UInt8]) -> [UInt8] {
        Array(#"{"validate_only":true,"#.utf8) + body.dropFirst()
    }
}

extension ProviderBatch {
    /// Gives all waiting messages the verdict for a missing token.
    fileprivate mutating func refuse(_ refusal: StandingRefusal) {
        let verdict = refusal.verdict(shortestWait: FCMAnswer.shortestWait)
        settle { _ in verdict }
    }
}
