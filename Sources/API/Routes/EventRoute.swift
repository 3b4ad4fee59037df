import BellhopJSON
import BellhopRules
import HTTPServer
import Publishing
import ServiceRuntime
import Store
import Synchronization

/// The route `POST /api/events`, by which programs without AMQP publish.
///
/// A call is answered with 202 only when the broker has confirmed all of its events.
final class EventRoute: Sendable {
    static let path = "/api/events"

    private let tools: APIContext
    private let rate: RateLimiter<String>?
    private let apiMetrics: APIMetrics
    private let metrics: PublishingMetrics
    private let logger: Logger
    /// Whether the last call that reached the publisher was not confirmed.
    private let isInterrupted = Mutex(false)

    /// Creates the route; `rate` is the number of calls per second of one publisher, or `nil` for no limit.
    init(tools: APIContext, rate: Int?, logger: Logger, metrics registry: MetricsRegistry) {
        self.tools = tools
        self.rate = rate.map { RateLimiter(perSecond: $0) }
        self.logger = logger
        apiMetrics = APIMetrics(registry)
        metrics = PublishingMetrics(registry, tools.publishing?.events)
    }

    /// Whether the request has a publisher's token and therefore counts for the publisher instead of its address.
    func isFromPublisher(_ request: HTTPRequest) -> Bool {
        guard request.method == "POST", request.target.segments == ["api", "events"] else { return false }
        return (try? publisher(of: request).get()) != nil
    }

    /// Accepts the body of a publisher within its rate limit.
    ///
    /// `refused` is called for each call that is answered without receiving its body.
    func body(_ refused: @escaping @Sendable (HTTPRequest, APIError) -> Void) -> RouteBody {
        RouteBody(atMost: PublishedContent.longestBody, within: .publishers) { [self] request in
            guard case .failure(let fault) = admitted(request) else { return nil }
            refused(request, fault)
            return fault.response
        }
    }

    /// The owner of a valid token, and the way to the broker.
    struct Caller: Sendable {
        fileprivate let account: PublisherAccount
        fileprivate let events: EventPublisher
    }

    /// Returns the publisher of a call, or the fault by which its token or its rate limit rejects it.
    func caller(of request: HTTPRequest) -> Result<Caller, APIError> {
        // A call with a body was counted when its head arrived.
        request.isAdmitted ? publisher(of: request) : admitted(request)
    }

    /// Answers a call.
    func accept(_ request: HTTPRequest, from caller: Caller) async throws -> HTTPResponse {
        let account = caller.account
        _ = try APIRequest.query(of: request, [])
        let events = try read(request, for: account)
        let start = tools.time.steady()
        let outcome = await caller.events.publish(events)
        note(outcome)
        if case .confirmed = outcome {
            metrics.count(.accepted, events.count, of: account.app)
            metrics.confirmed(after: tools.time.steady() - start, of: account.app)
            return .object(["accepted": .number(JSONNumber(Int64(events.count)))], status: 202)
        }
        throw refusal(outcome, events.count, of: account.app)
    }

    private func admitted(_ request: HTTPRequest) -> Result<Caller, APIError> {
        let found = publisher(of: request)
        switch found {
        case .success(let caller):
            let wait = rate?.wait(for: caller.account.name, at: tools.time.steady())
            return wait.map { .failure(.tooMany($0)) } ?? found
        case .failure(let fault):
            if fault.status == 401 { apiMetrics.refused(.key) }
            return found
        }
    }

    /// Returns the owner of the request's token, which is hashed once for admission and handler.
    private func publisher(of request: HTTPRequest) -> Result<Caller, APIError> {
        request.note.value { findPublisher(of: request) }
    }

    private func findPublisher(of request: HTTPRequest) -> Result<Caller, APIError> {
        guard case .success(let token) = request.bearerToken, let access = tools.publishing,
            let account = access.publishers().owner(of: token)
        else { return .failure(.unauthorized) }
        guard tools.catalogs.current[account.app] != nil else {
            return .failure(APIError(403, "unknown-app", "no catalogue describes the app of the token"))
        }
        return .success(Caller(account: account, events: access.events))
    }

    // MARK: Checking

    /// Returns the valid events, or throws the first fault; a batch has one fault or is valid as a whole.
    private func read(_ request: HTTPRequest, for account: PublisherAccount) throws(APIError) -> [ValidEvent] {
        let content = try PublishedContent(request, app: account.app)
        let catalogs = tools.catalogs.current
        let validator = EventValidator(catalogs, parser: .hashing(catalogs))
        let now = tools.now
        var events: [ValidEvent] = []
        events.reserveCapacity(content.envelopes.count)
        for (index, envelope) in content.envelopes.enumerated() {
            do throws(APIError) {
                events.append(try valid(envelope, validator.judge(envelope, at: now), account))
            } catch {
                metrics.count(error.status == 403 ? .forbidden : .invalid, content.envelopes.count, of: account.app)
                var fault = error
                if content.isBatch { fault.index = index }
                throw fault
            }
        }
        return events
    }

    private func valid(
        _ envelope: InboundEnvelope,
        _ judgement: Result<Submission, Rejection>,
        _ account: PublisherAccount
    ) throws(APIError) -> ValidEvent {
        switch judgement {
        case .success(let submission):
            // The type is valid, since the parser has found it. A message without effect needs no permission.
            if case .ignored = submission {
            } else {
                try permit(EventType(validating: submission.typeName), account)
            }
            return ValidEvent(submission, in: envelope)
        case .failure(let rejection):
            if let app = rejection.app, app != account.app {
                throw APIError(403, "forbidden-app", "the token is for another app", field: "/app")
            }
            if let type = rejection.eventType, !isMapping(type, account) { try permit(type, account) }
            throw APIError(publishing: rejection)
        }
    }

    /// Whether the name is that of a mapping: a message that names no type yet is invalid and not forbidden.
    private func isMapping(_ name: EventType, _ account: PublisherAccount) -> Bool {
        tools.catalogs.current[account.app]?.mappings.contains { $0.name == name } ?? false
    }

    private func permit(_ type: EventType?, _ account: PublisherAccount) throws(APIError) {
        guard let type, account.mayPublish(type) else {
            throw APIError(403, "forbidden-type", "the token does not permit this type", field: "/eventType")
        }
    }

    // MARK: Publishing

    /// Logs the first call that the broker did not confirm, and the first that it confirmed again.
    private func note(_ outcome: EventPublisher.Outcome) {
        switch outcome {
        case .confirmed:
            if change(to: false) { logger.notice("broker confirms events of publishers again") }
        case .unavailable(let reason):
            guard change(to: true) else { return }
            logger.warning("broker does not confirm events of publishers", ["error": .text(reason)])
        case .tooMany, .unfit: break
        }
    }

    private func change(to value: Bool) -> Bool {
        isInterrupted.withLock { isInterrupted in
            defer { isInterrupted = value }
            return isInterrupted != value
        }
    }

    private func refusal(_ outcome: EventPublisher.Outcome, _ count: Int, of app: AppID) -> APIError {
        if case .unfit = outcome {
            metrics.count(.invalid, count, of: app)
            return APIError(422, "invalid-field", "the event has headers that cannot be sent to the broker")
        }
        metrics.count(.unavailable, count, of: app)
        if case .tooMany = outcome {
            return APIError(503, "too-many-unconfirmed", "too many events wait for confirms; retry")
                .with("Retry-After", "1")
        }
        return APIError(503, "unavailable", "the broker has not confirmed the events; send them again")
            .with("Retry-After", "2")
    }
}

extension APIError {
    /// Creates a fault from the rejection of an event; the field is a JSON pointer.
    fileprivate init(publishing rejection: Rejection) {
        let status =
            switch rejection.reason {
            case .malformedJSON: 400
            case .tooLarge: 413
            default: 422
            }
        let place = rejection.pointer.text
        self.init(status, rejection.reason.rawValue, rejection.message, field: place.isEmpty ? nil : place)
    }
}
