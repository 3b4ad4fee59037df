import BellhopRules
package import HTTPServer
import Postgres
package import ServiceRuntime
import Store

/// The users' half of the system: reads and changes what belongs to whoever is signed in.
///
/// Every call goes the same way: its address may call so often, its token says who it is, the user may call so often, and
/// then its route answers.
package struct InboxAPI: Sendable {
    /// Who may call, and how often.
    package struct Admission: Sendable {
        package var verifier: TokenVerifier
        package var keys: @Sendable () -> TokenKeySet
        package var origins: [WebOrigin]
        package var rates: CallRates
        /// Whose word counts for whom a call comes from.
        package var proxies: [AddressRange]

        package init(
            verifier: TokenVerifier,
            keys: @escaping @Sendable () -> TokenKeySet,
            origins: [WebOrigin] = [],
            rates: CallRates = .usual,
            proxies: [AddressRange] = []
        ) {
            self.verifier = verifier
            self.keys = keys
            self.origins = origins
            self.rates = rates
            self.proxies = proxies
        }
    }

    private let tools: Tools
    private let admission: Admission
    private let users: RateLimiter<RecipientKey>?
    private let addresses: RateLimiter<PeerAddress>?
    private let underWay = CallsUnderWay()
    private let crossOrigin: CrossOrigin
    private let memory = TokenMemory()
    private let logger: Logger
    private let metrics: APIMetrics
    private var router = Router()

    package init(tools: Tools, admission: Admission, logger: Logger, metrics: MetricsRegistry) {
        self.tools = tools
        self.admission = admission
        users = admission.rates.user.map { RateLimiter(perSecond: $0) }
        addresses = admission.rates.address.map { RateLimiter(perSecond: $0) }
        crossOrigin = CrossOrigin(admission.origins, methods: Set(RouteTable.signedIn.map(\.method)))
        self.logger = logger.labelled("inbox API")
        self.metrics = APIMetrics(metrics)
        addRoutes()
    }

    /// Bodies of a few kilobytes; a browser's subscription is the largest.
    package static let limits = HTTPLimits(
        bodyBytes: 64 * 1_024,
        // Room for the longest token and what browsers send beside it; ten thousand open streams have as much each.
        headerBytes: 12 * 1_024,
        connections: ConnectionLimits.usual.total
    )

    /// Methods and paths, as `docs/openapi.yaml` lists them.
    package static let routes: [(method: String, path: String)] =
        RouteTable.signedIn.map { ($0.method, $0.path) } + [("GET", "/u/{token}"), ("POST", "/u/{token}")]
        + InboxPages.all.map { ("GET", $0.path) }

    /// Paths of the notification centre, which nobody signs in for.
    package static let pages: [String] = InboxPages.all.map(\.path)

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        var response: HTTPResponse
        if let peer = request.caller(behind: admission.proxies),
            let wait = addresses?.wait(for: peer, at: tools.time.steady())
        {
            response = Self.tooMany(wait).response
        } else if let preflight = crossOrigin.preflight(request) {
            response = preflight
        } else {
            response = await router.respond(to: request)
        }
        if response.headers["Cache-Control"] == nil { response.headers["Cache-Control"] = "no-store" }
        response.condense(for: request)
        crossOrigin.mark(&response, for: request)
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    }

    private mutating func addRoutes() {
        var router = Router()
        let (admitted, guarded, underWay) = (admitted, guarded, underWay)
        for route in RouteTable.signedIn {
            router.add(route.method, route.path) { request in
                await guarded(route.path, request) {
                    let call = try admitted(request)
                    return try await underWay.run(call.reader) { try await route.answer(call) }
                }
            }
        }
        let unsubscribe = UnsubscribeRoutes(tools: tools)
        router.add("GET", "/u/{token}") { request in
            await guarded("/u/{token}", request) { try await unsubscribe.ask(request) }
        }
        router.add("POST", "/u/{token}") { request in
            await guarded("/u/{token}", request) { try await unsubscribe.end(request) }
        }
        for page in InboxPages.all {
            router.add("GET", page.path) { request in await guarded(page.path, request) { page.answer(to: request) } }
        }
        self.router = router
    }

    /// Turns whatever goes wrong into an answer, and counts.
    private func guarded(
        _ path: String,
        _ request: HTTPRequest,
        _ answer: () async throws -> HTTPResponse
    ) async -> HTTPResponse {
        let start = tools.time.steady()
        let response: HTTPResponse
        do {
            response = try await answer()
        } catch let fault as CallFault {
            response = fault.response
        } catch let error as PostgresError {
            let fault = CallFault(error)
            logger.log(
                fault.status == 503 ? .warning : .error,
                "a call failed",
                ["route": .text(path), "error": .error(error)]
            )
            response = fault.response
        } catch {
            logger.error("a call failed", ["route": .text(path), "error": .error(error)])
            response = CallFault(500, "internal", "the service failed").response
        }
        metrics.count(path, request.method, response.status, in: tools.time.steady() - start)
        return response
    }

    /// The call of a user who may make it.
    private func admitted(_ request: HTTPRequest) throws(CallFault) -> Call {
        let now = tools.now
        let keys = admission.keys()
        let signedIn: SignedIn
        switch bearer(request).flatMap({ memory.check($0, with: keys, at: now, by: admission.verifier) }) {
        case .success(let found): signedIn = found
        case .failure(let fault):
            metrics.refused(fault)
            throw .unauthorized
        }
        guard let catalog = tools.catalogs.current[signedIn.app] else {
            throw CallFault(403, "unknown-app", "no catalogue describes the app of the token")
        }
        let reader = RecipientKey(app: signedIn.app, user: signedIn.user)
        if let wait = users?.wait(for: reader, at: tools.time.steady()) { throw Self.tooMany(wait) }
        return Call(
            request: request,
            reader: reader,
            catalog: catalog,
            now: now,
            until: signedIn.until,
            keys: keys.mark,
            tools: tools
        )
    }

    /// The one token of the header; one in the query is none.
    private func bearer(_ request: HTTPRequest) -> Result<String, TokenFault> {
        let fields = request.headers.values(of: "Authorization")
        guard fields.count == 1, let field = fields.first else { return .failure(.missing) }
        guard field.utf8.count <= TokenVerifier.longest + 16 else { return .failure(.tooLong) }
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return .failure(.missing) }
        return .success(String(words[1]))
    }

    private static func tooMany(_ wait: Duration) -> CallFault {
        let seconds = max(1, (wait.microseconds + 999_999) / 1_000_000)
        return CallFault(429, "too-many-requests", "too many calls; wait a little").with("Retry-After", "\(seconds)")
    }
}
