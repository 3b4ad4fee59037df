package import HTTPTransfer
package import ServiceRuntime
import Synchronization

/// The access tokens of one service account, fetched once for all senders of the process.
///
/// A token is replaced at 85 % of its lifetime, while the old one is still in use. No function here throws, and callers
/// cannot cause a storm of requests. At most one request is in flight, and after a failure all callers get the same
/// refusal until the next request is due.
package final class AccessTokenSource: Sendable {
    private typealias Fetch = Task<Result<AccessToken, TokenRefusal>, Never>

    private struct Current {
        var state = AccessTokenState()
        /// The refresh in flight.
        var flight: Fetch?
        var generator: any RandomNumberGenerator & Sendable
    }

    private let exchange: TokenExchange
    private let transport: any HTTPTransport
    private let time: any TimeSource
    private let logger: Logger
    private let current: Mutex<Current>

    package init(
        exchange: TokenExchange,
        transport: any HTTPTransport,
        time: any TimeSource = SystemTime(),
        logger: Logger,
        generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.exchange = exchange
        self.transport = transport
        self.time = time
        self.logger = logger
        current = Mutex(Current(generator: generator))
    }

    /// Returns a token, or the refusal for messages that cannot be sent.
    ///
    /// The function waits only if there is no valid token. A refresh continues if the caller is cancelled, because
    /// others wait for it.
    package func token() async -> Result<AccessToken, StandingRefusal> {
        await perform { $0.want(now: $1) }
    }

    /// Returns a replacement for a token that was rejected, or the refusal.
    package func token(insteadOf stale: AccessToken) async -> Result<AccessToken, StandingRefusal> {
        await perform { $0.wantAnother(than: stale, now: $1) }
    }

    private enum NextStep {
        case answer(Result<AccessToken, StandingRefusal>)
        case wait(Fetch)
    }

    private func perform(
        _ decide: (inout AccessTokenState, Instant) -> AccessTokenState.Step
    ) async -> Result<AccessToken, StandingRefusal> {
        let now = time.now()
        let move = current.withLock { current -> NextStep in
            switch decide(&current.state, now) {
            case .use(let token): return .answer(.success(token))
            case .useAndRefresh(let token):
                current.flight = Task { await self.refresh() }
                return .answer(.success(token))
            case .refresh:
                let flight = Task { await self.refresh() }
                current.flight = flight
                return .wait(flight)
            case .join:
                // The task and its entry in the state change under one lock, so the task always exists here.
                return current.flight.map(NextStep.wait)
                    ?? .answer(.failure(StandingRefusal(refusal: .neverAsked, wait: .zero)))
            case .refuse(let refusal, let wait): return .answer(.failure(StandingRefusal(refusal: refusal, wait: wait)))
            }
        }
        switch move {
        case .answer(let answer): return answer
        case .wait(let flight):
            let result = await flight.value
            let pause = current.withLock { $0.state.pause(now: time.now()) }
            return result.mapError { StandingRefusal(refusal: $0, wait: pause) }
        }
    }

    private func refresh() async -> Result<AccessToken, TokenRefusal> {
        let askedAt = time.now()
        let result = await ask(askedAt)
        let now = time.now()
        let pause = current.withLock { current in
            current.state.settle(result, now: now, using: &current.generator)
            current.flight = nil
            return current.state.pause(now: now)
        }
        report(result, pause)
        return result
    }

    private func ask(_ now: Instant) async -> Result<AccessToken, TokenRefusal> {
        do {
            let outcomes = await transport.send([try exchange.request(now: now)])
            guard let outcome = outcomes.first else { return .failure(.neverAsked) }
            return exchange.read(outcome, askedAt: now)
        } catch {
            return .failure(TokenRefusal(kind: .refused, text: "no assertion could be signed: \(error)"))
        }
    }

    private func report(_ result: Result<AccessToken, TokenRefusal>, _ pause: Duration) {
        let fields: LogFields = ["account": .text(exchange.account.email)]
        switch result {
        case .success: logger.debug("fetched an access token", fields)
        case .failure(let refusal):
            let level = refusal.kind == .unavailable ? LogLevel.warning : .error
            logger.log(level, "no access token: \(refusal.text)", fields.merging(["pause": .span(pause)]))
        }
    }
}

extension TokenRefusal {
    /// The refusal if a transport gives no outcome for a request.
    fileprivate static let neverAsked = TokenRefusal(kind: .unavailable, text: "the transport gave no outcome")
}
