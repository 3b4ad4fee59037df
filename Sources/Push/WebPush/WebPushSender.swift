package import BellhopRules
package import HTTPTransfer
package import ServiceRuntime

/// Sends one app's messages to browsers, each through the push service that its browser has chosen.
///
/// Every message is encrypted for its browser alone. All requests to one origin share a sign-in; where a service does
/// not accept it, a fresh one is tried once.
package struct WebPushSender: PushSender {
    package var provider: PushProvider { .webpush }
    package var window = Int.max

    private let desk: WebPushDesk
    private let transport: any HTTPTransport
    private let time: any TimeSource
    private let metrics: PushMetrics.ForSender?

    /// `transport` must refuse addresses that are not public: hosts come from strangers.
    package init(
        hosts: PushServiceHosts,
        keys: VAPIDKeys,
        subject: String,
        transport: any HTTPTransport,
        time: any TimeSource = SystemTime(),
        metrics: PushMetrics.ForSender? = nil
    ) {
        desk = WebPushDesk(hosts: hosts, keys: keys, tokens: VAPIDTokens(subject: subject))
        self.transport = transport
        self.time = time
        self.metrics = metrics
    }

    package func send(_ batch: [PushMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [PushMessage]) async -> [Verdict] {
        var round = WebPushRound(batch, desk, now: time.now())
        guard !round.waiting.isEmpty else { return round.verdicts }
        round.take(await transport.send(round.waiting.map(\.request)), desk.tokens)
        round.renewSignIn(desk.tokens, now: time.now())
        guard !round.waiting.isEmpty else { return round.verdicts }
        round.take(await transport.send(round.waiting.map(\.request)), desk.tokens)
        round.giveUpWaiting()
        return round.verdicts
    }
}
