package import BellhopRules
package import HTTPTransfer

/// Sends one app's messages through APNs, each to the environment that its device's token was made for.
///
/// All requests of a batch share one provider token. What a fresh token or a new connection may mend is mended and sent
/// once more; what is refused then is a config error.
package struct APNsSender: PushSender {
    /// One of APNs' two environments.
    package struct Service: Sendable {
        /// Scheme, host and port, without a slash at the end.
        package let endpoint: String
        package let transport: any HTTPTransport

        package init(endpoint: String, transport: any HTTPTransport) {
            self.endpoint = endpoint
            self.transport = transport
        }
    }

    package var provider: PushProvider { .apns }
    package var window = Int.max

    private let topic: String
    private let tokens: ProviderTokens
    private let production: Service
    private let sandbox: Service
    private let metrics: PushMetrics.ForSender?

    private static let timeouts = TransferTimeouts(total: .seconds(20), connect: .seconds(10))

    /// The topic is the app's bundle id.
    package init(
        topic: String,
        tokens: ProviderTokens,
        production: Service,
        sandbox: Service,
        metrics: PushMetrics.ForSender? = nil
    ) {
        self.topic = topic
        self.tokens = tokens
        self.production = production
        self.sandbox = sandbox
        self.metrics = metrics
    }

    package func send(_ batch: [PushMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [PushMessage]) async -> [Verdict] {
        let first = batch[0].device.environment
        guard batch.contains(where: { $0.device.environment != first }) else {
            return await verdicts(on: batch, of: first)
        }
        let places = Dictionary(grouping: batch.indices) { batch[$0].device.environment }
        var verdicts = Array(repeating: APNsRound.unanswered, count: batch.count)
        await withTaskGroup(of: (places: [Int], verdicts: [Verdict]).self) { group in
            for (environment, places) in places {
                group.addTask { (places, await self.verdicts(on: places.map { batch[$0] }, of: environment)) }
            }
            for await part in group {
                for (place, verdict) in zip(part.places, part.verdicts) { verdicts[place] = verdict }
            }
        }
        return verdicts
    }

    /// The verdicts on messages to one environment.
    private func verdicts(on part: [PushMessage], of environment: PushEnvironment) async -> [Verdict] {
        var round = APNsRound(part, topic: topic)
        await run(&round, through: environment == .production ? production : sandbox)
        return round.verdicts
    }

    private func run(_ round: inout APNsRound, through service: Service) async {
        guard !round.waiting.isEmpty else { return }
        switch tokens.token() {
        case .failure(let refusal): round.refuseWaiting(refusal)
        case .success(let token):
            await send(&round, with: token, through: service)
            guard !round.waiting.isEmpty else { break }
            switch round.wantsFreshToken ? tokens.token(insteadOf: token) : .success(token) {
            case .failure(let refusal): round.refuseWaiting(refusal)
            case .success(let token):
                await send(&round, with: token, through: service)
                round.giveUpWaiting()
            }
        }
    }

    private func send(_ round: inout APNsRound, with token: ProviderToken, through service: Service) async {
        let authorization: TransferRequest.Header = ("authorization", token.authorization)
        let requests = round.waiting.map { waiting in
            TransferRequest(
                .post,
                url: service.endpoint + waiting.push.path,
                headers: [authorization] + waiting.push.headers,
                body: waiting.push.body,
                timeouts: Self.timeouts
            )
        }
        round.take(await service.transport.send(requests))
        if round.needs.contains(.newConnection) { service.transport.retireConnections() }
        if round.needs.contains(.rest) { tokens.pause() }
    }
}
