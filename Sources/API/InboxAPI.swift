import BellhopRules
package import HTTPServer
import Postgres
package import ServiceRuntime
package import Settings
import Store

/// The users' API, which reads and changes the data of the signed-in user, and the route for publishers.
///
/// Every call passes the same steps: the address's rate limit, the token, the user's rate limit, and then its route.
package struct InboxAPI: Sendable {
    /// The rules by which calls are admitted.
    package struct AccessPolicy: Sendable {
        package var issuers: @Sendable () -> TrustedIssuers
        /// Receives each token whose key is unknown.
        package var noteUnknownKey: @Sendable (String) -> Void
        package var origins: [WebOrigin]
        package var rates: CallRates
        /// Proxies whose statement about a caller's address is trusted.
        package var proxies: [AddressRange]

        package init(
            issuers: @escaping @Sendable () -> TrustedIssuers,
            noteUnknownKey: @escaping @Sendable (String) -> Void = { _ in },
            origins: [WebOrigin] = [],
            rates: CallRates = .usual,
            proxies: [AddressRange] = []
        ) {
            self.issuers = issuers
            self.noteUnknownKey = noteUnknownKey
            self.origins = origins
            self.rates = rates
            self.proxies = proxies
        }
    }

    private let tools: APIContext
    private let admission: AccessPolicy
    private let users: RateLimiter<UserKey>?
    private let addresses: RateLimiter<PeerAddress>?
    private let underWay = ConcurrentRequestLimiter()
    private let turns = ChangeTurns()
    private let proxyWatch: ProxyWatch
    private let crossOrigin: CrossOrigin
    private let events: EventRoute
    private let memory = TokenCache()
    private let logger: Logger
    private let metrics: APIMetrics
    private var router = Router()

    package init(tools: APIContext, admission: AccessPolicy, logger: Logger, metrics: MetricsRegistry) {
        self.tools = tools
        self.admission = admission
        users = admission.rates.user.map { RateLimiter(perSecond: $0) }
        addresses = admission.rates.address.map { RateLimiter(perSecond: $0) }
        crossOrigin = CrossOrigin(admission.origins, methods: Set(RouteTable.signedIn.map(\.method)))
        self.logger = logger.labelled("inbox API")
        proxyWatch = ProxyWatch(
            admission.proxies,
            setting: Setting.apiProxies.environmentName,
            logger: self.logger
        )
        self.metrics = APIMetrics(metrics)
        events = EventRoute(tools: tools, rate: admission.rates.publisher, logger: self.logger, metrics: metrics)
        addRoutes()
    }

    /// The limits of requests.
    ///
    /// The longest body is a batch of events. A user's routes accept less: a browser's subscription of a few kilobytes.
    package static let limits = HTTPLimits(
        bodyBytes: max(RouteTable.longestBody, PublishedContent.longestBody),
        // Room for the longest token and the browser's other headers. Ten thousand open streams use this amount each.
        headerBytes: 12 * 1_024,
        connections: ConnectionLimits.usual.total
    )

    /// Methods and paths, as listed in `docs/openapi.yaml`.
    package static let routes: [(method: String, path: String)] =
        RouteTable.signedIn.map { ($0.method, $0.path) }
        + [("POST", EventRoute.path), ("GET", "/u/{token}"), ("POST", "/u/{token}")]
        + InboxPages.all.map { ("GET", $0.path) }

    /// Paths of the notification centre, which need no sign-in.
    package static let pages: [String] = InboxPages.all.map(\.path)

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        // A call with a body was checked when its head arrived.
        if !request.isAdmitted, let limited = addressLimit(request) { return finished(limited, request) }
        if let preflight = crossOrigin.preflight(request) { return finished(preflight, request) }
        return finished(await router.respond(to: request), request)
    }

    /// Decides from a call's head whether its body is received: by the address's limit, the route and the token.
    package func admit(_ request: HTTPRequest) -> BodyAdmission {
        if let limited = addressLimit(request) { return .refuse(finished(limited, request)) }
        let decision = router.admit(request)
        guard case .refuse(let response) = decision else { return decision }
        return .refuse(finished(response, request))
    }

    private func addressLimit(_ request: HTTPRequest) -> HTTPResponse? {
        proxyWatch.look(at: request)
        // Many publishers share an address with others, and have a separate limit.
        guard !events.isFromPublisher(request) else { return nil }
        let peer = request.caller(behind: admission.proxies)
        return peer.flatMap { addresses?.wait(for: $0, at: tools.time.steady()) }.map { APIError.tooMany($0).response }
    }

    /// Adds the headers that every answer has.
    private func finished(_ response: HTTPResponse, _ request: HTTPRequest) -> HTTPResponse {
        var response = response
        if response.headers["Cache-Control"] == nil { response.headers["Cache-Control"] = "no-store" }
        response.condense(for: request)
        crossOrigin.mark(&response, for: request)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    }

    private mutating func addRoutes() {
        var router = Router()
        addSignedIn(&router)
        let (guarded, record) = (guarded, record)
        let (time, tracer, events) = (tools.time, tools.tracer, events)
        let published = events.body { request, fault in
            record(request, EventRoute.path, fault.status, (time.steady(), tracer?.time.now()), false)
        }
        router.add("POST", EventRoute.path, body: published) { request in
            let caller = events.caller(of: request)
            let isSignedIn = if case .success = caller { true } else { false }
            return await guarded(EventRoute.path, request, isSignedIn) {
                try await events.accept(request, from: try caller.get())
            }
        }
        let unsubscribe = UnsubscribeRoutes(tools: tools, turns: turns)
        router.add("GET", "/u/{token}") { request in
            await guarded("/u/{token}", request, false) { try await unsubscribe.ask(request) }
        }
        let unsubscribed = unsubscribe.body { request, fault in
            record(request, "/u/{token}", fault.status, (time.steady(), tracer?.time.now()), false)
        }
        router.add("POST", "/u/{token}", body: unsubscribed) { request in
            await guarded("/u/{token}", request, false) { try await unsubscribe.end(request) }
        }
        for page in InboxPages.all {
            router.add("GET", page.path) { request in
                await guarded(page.path, request, false) { page.answer(to: request) }
            }
        }
        self.router = router
    }

    private func addSignedIn(_ router: inout Router) {
        let (admitted, guarded, refusal, underWay, turns) = (admitted, guarded, refusal, underWay, turns)
        for route in RouteTable.signedIn {
            let body = RouteBody(atMost: route.bodyBytes) { refusal(route.path, $0) }
            router.add(route.method, route.path, body: body) { request in
                let admission = admitted(request)
                let isSignedIn = if case .success = admission { true } else { false }
                return await guarded(route.path, request, isSignedIn) {
                    let call = try admission.get()
                    return try await underWay.run(call.reader) {
                        guard route.method != "GET" else { return try await route.answer(call) }
                        return try await turns.run(call.reader) { try await route.answer(call) }
                    }
                }
            }
        }
    }

    /// Returns the answer to a call without a valid token, so that its body is not received.
    private func refusal(_ path: String, _ request: HTTPRequest) -> HTTPResponse? {
        let start = (tools.time.steady(), tools.tracer?.time.now())
        guard case .failure(let fault) = verified(request) else { return nil }
        record(request, path, fault.status, since: start, isSignedIn: false)
        return fault.response
    }

    /// Converts errors into answers, and counts the call.
    private func guarded(
        _ path: String,
        _ request: HTTPRequest,
        _ isSignedIn: Bool,
        _ answer: () async throws -> HTTPResponse
    ) async -> HTTPResponse {
        let start = (tools.time.steady(), tools.tracer?.time.now())
        let response: HTTPResponse
        do {
            response = try await answer()
        } catch let fault as APIError {
            response = fault.response
        } catch let error as StoreError where error.isErasedUser {
            metrics.refused(.erased)
            response = APIError.erased.response
        } catch let error as StoreError {
            let fault = APIError(error)
            logger.log(
                fault.status == 503 ? .warning : .error,
                "a call failed",
                ["route": .text(path), "error": .error(error)]
            )
            response = fault.response
        } catch {
            logger.error("a call failed", ["route": .text(path), "error": .error(error)])
            response = APIError(500, "internal", "the service failed").response
        }
        record(request, path, response.status, since: start, isSignedIn: isSignedIn)
        return response
    }

    private func record(
        _ request: HTTPRequest,
        _ path: String,
        _ status: Int,
        since start: (steady: ContinuousClock.Instant, begun: Instant?),
        isSignedIn: Bool
    ) {
        metrics.count(path, request.method, status, in: tools.time.steady() - start.steady)
        guard let begun = start.begun else { return }
        // A proxy forwards untrusted requests, so its address is no reason for trust. Only a valid token is.
        tools.tracer?.record(request, path, status, since: begun, isTrusted: isSignedIn)
    }

    /// Returns the call of a signed-in user, or a fault if the token or the rate limit rejects it.
    private func admitted(_ request: HTTPRequest) -> Result<APIRequest, APIError> {
        verified(request).flatMap { caller in
            if let wait = users?.wait(for: caller.reader, at: tools.time.steady()) { return .failure(.tooMany(wait)) }
            return .success(
                APIRequest(
                    request: request,
                    reader: caller.reader,
                    catalog: caller.catalog,
                    now: caller.now,
                    signedIn: caller.signedIn,
                    keys: caller.keys,
                    tools: tools
                )
            )
        }
    }

    /// A user with a valid token.
    private struct Caller {
        let signedIn: AuthenticatedUser
        let catalog: Catalog
        let keys: TrustedIssuers.Mark
        let now: Timestamp

        var reader: UserKey { UserKey(app: signedIn.app, user: signedIn.user) }
    }

    private func verified(_ request: HTTPRequest) -> Result<Caller, APIError> {
        let now = tools.now
        let issuers = admission.issuers()
        let token = request.bearerToken
        switch token.flatMap({ memory.check($0, with: issuers, at: now) }) {
        case .success(let signedIn):
            guard let catalog = tools.catalogs.current[signedIn.app] else {
                return .failure(APIError(403, "unknown-app", "no catalogue describes the app of the token"))
            }
            return .success(Caller(signedIn: signedIn, catalog: catalog, keys: issuers.mark, now: now))
        case .failure(let fault):
            metrics.refused(fault)
            if fault == .key, case .success(let token) = token { admission.noteUnknownKey(token) }
            return .failure(fault == .unavailable ? .keysUnavailable : .unauthorized)
        }
    }
}
