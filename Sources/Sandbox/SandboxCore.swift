import ServiceRuntime

/// Processes every request to the providers' side: judges it, applies a fault if one matches, answers and records it.
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
        let (action, answer) = outcome(provider, judgement, fault?.effect ?? .delay)
        for (index, judgement) in judgement.recorded.enumerated() {
            log.append(
                ReceivedLog.Entry(
                    at: now,
                    provider: provider.name,
                    request: request,
                    judgement: judgement,
                    answer: answer.map { answer in
                        let reason = answer.reasons.indices.contains(index) ? answer.reasons[index] : answer.reason
                        return .init(status: answer.http.status, reason: reason)
                    }
                )
            )
        }
        return HTTP2Reaction(action, after: fault?.delay ?? .zero)
    }

    /// Returns the action for a request and the answer that is sent completely; `nil` if none is.
    private func outcome(
        _ provider: any ProviderStandIn,
        _ judgement: ProviderDecision,
        _ effect: SandboxFault.Effect
    ) -> (HTTP2Reaction.Action, StandInAnswer?) {
        switch effect {
        case .delay: whole(judgement.answer(), judgement)
        case .answer(let answer): whole(provider.answer(to: answer), judgement)
        case .drip(let interval): slow(judgement.answer(), interval)
        case .partial: (.answerPartly(judgement.answer().http), nil)
        case .drop: (.dropConnection, nil)
        case .reset: (.resetStream, nil)
        case .goAway: (.goAway, nil)
        }
    }

    private func whole(_ answer: StandInAnswer, _ judgement: ProviderDecision) -> (
        HTTP2Reaction.Action, StandInAnswer?
    ) {
        var http = answer.http
        http.provesClient = judgement.provesClient
        return (.answer(http), answer)
    }

    private func slow(_ answer: StandInAnswer, _ interval: Duration) -> (HTTP2Reaction.Action, StandInAnswer?) {
        (.answerSlowly(answer.http, every: interval), answer)
    }

    private func stray(_ request: HTTP2Request, _ now: Instant) -> HTTP2Reaction {
        let page = HTTP2Answer.html(404, "Not Found")
        let judgement = ProviderDecision.refuse("no provider has this path", StandInAnswer(http: page, reason: nil))
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
