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
        var progress = ProviderBatch(batch, unanswered: unanswered) { (message) throws(MessageRefusal) in
            try builder.draft(of: message, now: now)
        }
        guard !progress.waiting.isEmpty else { return progress.verdicts }
        await send(&progress)
        renewSignIn(&progress, now: time.now())
        guard !progress.waiting.isEmpty else { return progress.verdicts }
        await send(&progress)
        // The new sign-in was rejected, too.
        progress.settle { _ in WebPushAnswer.refused }
        return progress.verdicts
    }

    /// Sends all waiting messages; those whose sign-in was rejected continue to wait.
    ///
    /// A key mismatch revokes a device only if other browsers accept the app's key. A wrong key in the configuration
    /// must not end any subscription.
    private func send(_ progress: inout ProviderBatch<WebPushDraft>) async {
        let outcomes = await transport.send(progress.waiting.map(\.draft.request))
        let readings = zip(progress.waiting, outcomes).map { WebPushAnswer.read($1, namesKey: $0.draft.namesKey) }
        for case (let waiting, .verdict(.delivered)) in zip(progress.waiting, readings) {
            builder.tokens.prove(waiting.draft.key)
        }
        progress.take(readings) { draft, reading in
            switch reading {
            case .verdict(.deviceGone(.vapidMismatch, _)) where !builder.tokens.isProven(draft.key):
                .configError(.vapidMismatch, scope: .device)
            case .verdict(let verdict): verdict
            case .staleAuthorization: nil
            }
        }
    }

    /// Renews the sign-in of waiting messages; without a new sign-in to try, the rejection is final.
    private func renewSignIn(_ progress: inout ProviderBatch<WebPushDraft>, now: Instant) {
        progress.settle { draft in
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
