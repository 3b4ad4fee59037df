import ServiceRuntime

/// What every request to the providers' side goes through: judged, befallen by a fault or not, answered, recorded.
struct SandboxCore: HTTP2Handler {
    let providers: [any ProviderStandIn]
    let faults: FaultList
    let log: ReceivedLog
    let time: any TimeSource

    var readsContent: Bool { true }

    func react(to request: HTTP2Request) -> HTTP2Reaction {
        let path = request.path
        let now = time.now()
        guard let provider = providers.first(where: { $0.serves(path: path) }) else { return stray(request, now) }
        let judgement = provider.judge(request, now: now)
        let fault = faults.take(provider.name, token: judgement.token, path: path)
        let answer = answer(provider, judgement, fault)
        log.append(
            ReceivedLog.Entry(
                at: now,
                provider: provider.name,
                request: request,
                judgement: judgement,
                answer: answer.map { .init(status: $0.http.status, reason: $0.reason) }
            )
        )
        let action = answer.map { HTTP2Reaction.Action.answer($0.http) } ?? .dropConnection
        return HTTP2Reaction(action, after: fault?.delay ?? .zero)
    }

    /// Nil where the connection shall be dropped.
    private func answer(
        _ provider: any ProviderStandIn,
        _ judgement: Judgement,
        _ fault: SandboxFault?
    ) -> ProviderAnswer? {
        switch fault?.effect {
        case nil, .delay: judgement.answer()
        case .answer(let answer): provider.answer(to: answer)
        case .drop: nil
        }
    }

    private func stray(_ request: HTTP2Request, _ now: Instant) -> HTTP2Reaction {
        let page = HTTP2Answer.html(404, "Not Found")
        let judgement = Judgement.refuse("no provider has this path", ProviderAnswer(http: page, reason: nil))
        log.append(
            ReceivedLog.Entry(
                at: now,
                provider: nil,
                request: request,
                judgement: judgement,
                answer: .init(status: page.status, reason: nil)
            )
        )
        return HTTP2Reaction(.answer(page))
    }
}
