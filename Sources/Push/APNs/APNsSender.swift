package import BellhopRules
package import HTTPTransfer

/// Sends one app's messages through APNs, each to the environment of its device's token.
///
/// All requests of a batch share one provider token. If a new token or a new connection may solve a problem, the
/// request is repeated once. A second rejection is a configuration error.
package struct APNsSender: PushSender {
    /// One of APNs' two environments.
    package struct Service: Sendable {
        /// The scheme, host and port, without a trailing slash.
        package let endpoint: String
        package let transport: any HTTPTransport
    }

    /// A waiting push, with the verdict on a problem that one repeat may solve; the verdict applies if the repeat
    /// fails.
    private struct Draft {
        let push: APNsPush
        var trouble: Verdict?
    }

    package var provider: PushProvider { .apns }

    /// The app's bundle id.
    let topic: String
    let tokens: ProviderTokens
    let production: Service
    let sandbox: Service
    var metrics: PushMetrics.SenderMetrics?
    package var window = Int.max

    private static let timeouts = TransferTimeouts(total: .seconds(20), connect: .seconds(10))
    private static let unanswered = Verdict.unknown(.library, notBefore: APNsAnswer.shortestWait)
    private static let expired = Verdict.configError(.expiredProviderToken, scope: .provider)

    package func send(_ batch: [PushMessage]) async -> [Verdict] {
        await metrics.measured(batch, verdicts(on:))
    }

    private func verdicts(on batch: [PushMessage]) async -> [Verdict] {
        let first = batch[0].environment
        guard batch.contains(where: { $0.environment != first }) else {
            return await verdicts(on: batch, of: first)
        }
        let places = Dictionary(grouping: batch.indices) { batch[$0].environment }
        var verdicts = Array(repeating: Self.unanswered, count: batch.count)
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

    /// Returns the verdicts on messages to one environment.
    private func verdicts(on part: [PushMessage], of environment: PushEnvironment) async -> [Verdict] {
        var progress = ProviderBatch(part, unanswered: Self.unanswered) { (message) throws(MessageRefusal) -> Draft in
            switch APNsPush.draft(of: message, topic: topic) {
            case .push(let push): return Draft(push: push)
            case .refused(let verdict): throw MessageRefusal(verdict)
            }
        }
        await run(&progress, through: environment == .production ? production : sandbox)
        return progress.verdicts
    }

    private func run(_ progress: inout ProviderBatch<Draft>, through service: Service) async {
        guard !progress.waiting.isEmpty else { return }
        switch tokens.token() {
        case .failure(let refusal): progress.settle { _ in refusal.verdict }
        case .success(let token):
            await send(&progress, with: token, through: service)
            guard !progress.waiting.isEmpty else { break }
            let isExpired = progress.waiting.contains { $0.draft.trouble == Self.expired }
            switch isExpired ? tokens.token(insteadOf: token) : .success(token) {
            case .failure(let refusal): progress.settle { _ in refusal.verdict }
            case .success(let token):
                await send(&progress, with: token, through: service)
                progress.settle { $0.trouble ?? Self.unanswered }
            }
        }
    }

    private func send(_ progress: inout ProviderBatch<Draft>, with token: ProviderToken, through service: Service) async
    {
        let authorization: TransferRequest.Header = ("authorization", token.authorization)
        let requests = progress.waiting.map { waiting in
            TransferRequest(
                .post,
                url: service.endpoint + waiting.draft.push.path,
                headers: [authorization] + waiting.draft.push.headers,
                body: waiting.draft.push.body,
                timeouts: Self.timeouts
            )
        }
        var (isStale, mustRest) = (false, false)
        progress.take(await service.transport.send(requests)) { draft, outcome in
            switch APNsAnswer.read(outcome) {
            case .verdict(let verdict): return verdict
            case .staleConnection(let verdict):
                isStale = true
                return verdict
            case .tooManyTokens:
                mustRest = true
                return .configError(.tooManyProviderTokenUpdates, scope: .provider)
            case .expiredToken: draft.trouble = Self.expired
            case .unrelatedKey:
                draft.trouble = .configError(.unrelatedKeyID, scope: .provider)
                isStale = true
            }
            return nil
        }
        if isStale { service.transport.retireConnections() }
        if mustRest { tokens.pause() }
    }
}

extension PushMessage {
    fileprivate var environment: PushEnvironment { device.environment ?? .production }
}
