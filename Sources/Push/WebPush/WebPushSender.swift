package import BellhopRules
import HTTPTransfer
import ServiceRuntime

/// Sends one app's messages to browsers, each through the push service of its browser.
///
/// Every message is encrypted for its browser alone. All requests to one origin share a sign-in; if a service rejects
/// it, a new one is tried once.
package struct WebPushSender: PushSender {
    package var provider: PushProvider { .webpush }

    let builder: WebPushRequestBuilder
    /// The transport, which rejects addresses that are not public, because hosts are untrusted input.
    let transport: any HTTPTransport
    var time: any TimeSource = SystemTime()
    var metrics: PushMetrics.SenderMetrics?
    package var window = Int.max

    package func send(_ batch: [PushMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [PushMessage]) async -> [Verdict] {
        let now = time.now()
        let unanswered = Verdict.unknown(.library, notBefore: WebPushAnswer.shortestWait)
        var round = Round(batch, unanswered: unanswered) { (message) throws(Refusal) in
            try builder.draft(of: message, now: now)
        }
        guard !round.waiting.isEmpty else { return round.verdicts }
        await send(&round)
        renewSignIn(&round, now: time.now())
        guard !round.waiting.isEmpty else { return round.verdicts }
        await send(&round)
        // The new sign-in was rejected, too.
        round.settle { _ in WebPushAnswer.refused }
        return round.verdicts
    }

    /// Sends all waiting messages; those whose sign-in was rejected continue to wait.
    ///
    /// A key mismatch revokes a device only if other browsers accept the app's key. A wrong key in the configuration
    /// must not end any subscription.
    private func send(_ round: inout Round<WebPushDraft>) async {
        let outcomes = await transport.send(round.waiting.map(\.draft.request))
        let readings = zip(round.waiting, outcomes).map { WebPushAnswer.read($1, namesKey: $0.draft.namesKey) }
        for case (let waiting, .verdict(.delivered)) in zip(round.waiting, readings) {
            builder.tokens.prove(waiting.draft.key)
        }
        round.take(readings) { draft, reading in
            switch reading {
            case .verdict(.deviceGone(.vapidMismatch, _)) where !builder.tokens.isProven(draft.key):
                .configError(.vapidMismatch, scope: .device)
            case .verdict(let verdict): verdict
            case .staleAuthorization: nil
            }
        }
    }

    /// Renews the sign-in of waiting messages; without a new sign-in to try, the rejection is final.
    private func renewSignIn(_ round: inout Round<WebPushDraft>, now: Instant) {
        round.settle { draft in
            let fresh = try? builder.tokens.authorization(
                draft.key,
                for: draft.origin,
                insteadOf: draft.authorization,
                now: now
            )
            guard let fresh else { return WebPushAnswer.refused }
            draft.authorization = fresh
            return nil
        }
    }
}
