import BellhopJSON
package import HTTPServer
package import Operations
package import ServiceRuntime
package import Settings

/// The operators' console: pages, and the operations behind them, for signed-in operators.
package struct OperatorConsole: Sendable {
    /// The console's dependencies.
    package struct Surroundings: Sendable {
        /// The configuration and the connections for operations.
        package let context: OperationsContext
        package let board: StatusCache
        package let operators: WatchedDocument<OperatorFile>
        package let time: any TimeSource
        package var origin: WebOrigin?
        /// The web address of the folder that contains `docs`; `nil` if pages of the documentation are not linked.
        package var docsURL: String?
        /// Proxies whose statement about a caller's address is trusted.
        package var proxies: [AddressRange] = []
        package let logger: Logger
        package let metrics: MetricsRegistry

        package init(
            _ context: OperationsContext,
            board: StatusCache,
            operators: WatchedDocument<OperatorFile>,
            time: any TimeSource,
            log: (logger: Logger, metrics: MetricsRegistry)
        ) {
            self.context = context
            self.board = board
            self.operators = operators
            self.time = time
            logger = log.logger
            metrics = log.metrics
        }
    }

    private let here: Surroundings
    private let door: OperatorAuthenticator
    private let limiter = ConcurrencyLimiter()
    private let metrics: ConsoleMetrics
    private let proxyWatch: ProxyWatch
    private var router = Router()

    package init(_ surroundings: Surroundings) {
        here = surroundings
        let sessions = SessionTable(time: surroundings.time)
        door = OperatorAuthenticator(surroundings, sessions: sessions)
        metrics = ConsoleMetrics(surroundings.metrics) { sessions.count }
        proxyWatch = ProxyWatch(
            surroundings.proxies,
            setting: Setting.apiProxies.environmentName,
            logger: surroundings.logger.labelled("console")
        )
        addRoutes()
    }

    /// The number of database connections: one per concurrent operation, and one for the status board.
    package static let connections = ConcurrencyLimiter.usualPlaces + 1

    /// Room for an event of the maximum size in JSON's escapes, and for a few operators.
    package static let limits: HTTPLimits = {
        var limits = HTTPLimits(bodyBytes: 2 << 20, headerBytes: 16 * 1_024, connections: 256)
        limits.connectionsPerAddress = 64
        return limits
    }()

    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        proxyWatch.look(at: request)
        return Self.finished(await router.respond(to: request), request)
    }

    /// Decides from a call's head whether its body is received.
    ///
    /// The body of an act is received only from a signed-in operator.
    package func admit(_ request: HTTPRequest) -> BodyAdmission {
        let decision = router.admit(request)
        guard case .refuse(let response) = decision else { return decision }
        return .refuse(Self.finished(response, request))
    }

    private static func finished(_ response: HTTPResponse, _ request: HTTPRequest) -> HTTPResponse {
        var response = response
        ConsolePages.guardHeaders(&response)
        response.condense(for: request)
        return response
    }

    /// Every route with the callers that it admits, for tests that check them all.
    package static let routes: [(method: String, path: String, admits: Admission)] =
        ConsolePages.all.map { ("GET", $0.path, .everybody) } + [
            ("POST", "/api/sign-in", .everybody), ("POST", "/api/sign-out", .signedIn),
            ("GET", "/api/session", .signedIn), ("GET", "/api/status", .signedIn), ("GET", "/api/figures", .signedIn),
        ]
        + Operation.all.map { operation in
            operation.isAct
                ? ("POST", "/api/acts/\(operation.name)", .operators)
                : ("GET", "/api/\(operation.name)", operation.isPersonal ? .operators : .signedIn)
        }

    /// The callers that a route admits.
    package enum Admission: Sendable {
        case everybody
        case signedIn
        case operators
    }

    // MARK: - Routes

    private mutating func addRoutes() {
        var router = Router()
        for page in ConsolePages.all { router.add("GET", page.path) { page.answer(to: $0) } }
        addDoor(&router)
        addBoard(&router)
        for operation in Operation.all { add(operation, &router) }
        self.router = router
    }

    private func add(_ operation: Operation, _ router: inout Router) {
        let door = door
        let routes = OperationRoutes(context: here.context, limiter: limiter)
        guard operation.isAct else {
            return add("GET", "/api/\(operation.name)", &router) { request in
                _ = try door.admit(request, asOperator: operation.isPersonal)
                return try await routes.read(operation, request)
            }
        }
        let path = "/api/acts/\(operation.name)"
        add("POST", path, body: actBody(path), &router) { request in
            let session = try door.admitAct(request)
            return try await routes.act(operation, try Self.body(of: request), session)
        }
    }

    /// Returns the rule for the body of an act.
    ///
    /// It is received only from an operator's own page.
    private func actBody(_ path: String) -> RouteBody {
        let (door, metrics) = (door, metrics)
        return RouteBody(atMost: Self.limits.bodyBytes) { request in
            do throws(ConsoleError) {
                _ = try door.admitAct(request)
                return nil
            } catch {
                metrics.count(path, request.method, error.status)
                return error.response
            }
        }
    }

    private func addDoor(_ router: inout Router) {
        let (door, metrics) = (door, metrics)
        // The body contains only a token.
        add("POST", "/api/sign-in", body: RouteBody(atMost: 1_024), &router) { try door.signIn($0, metrics.attempt) }
        add("POST", "/api/sign-out", &router) { try door.signOut($0) }
        add("GET", "/api/session", &router) { door.telling(try door.admit($0)) }
    }

    private func addBoard(_ router: inout Router) {
        let (door, board) = (door, here.board)
        add("GET", "/api/status", &router) { request in
            _ = try door.admit(request)
            return try .json(try OperationRoutes.value(await board.current()))
        }
        add("GET", "/api/figures", &router) { request in
            _ = try door.admit(request)
            return .json(await board.figures())
        }
    }

    /// Adds a route, which converts errors into answers and counts calls.
    private func add(
        _ method: String,
        _ path: String,
        body: RouteBody = .none,
        _ router: inout Router,
        _ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) {
        let metrics = metrics
        router.add(method, path, body: body) { request in
            let response: HTTPResponse
            do {
                response = try await answer(request)
            } catch {
                response = (error as? ConsoleError ?? .bug).response
            }
            metrics.count(path, request.method, response.status)
            return response
        }
    }

    /// Returns the JSON object in the body of a call.
    static func body(of request: HTTPRequest) throws(ConsoleError) -> JSONObject {
        let type = request.headers["Content-Type"].map { $0.prefix { $0 != ";" } } ?? ""
        guard type.lowercased().filter({ $0 != " " }) == "application/json" else {
            throw ConsoleError(status: 415, code: "unsupported-media-type", message: "expected application/json")
        }
        let parsed = JSONParser(limits: .init(bytes: limits.bodyBytes, depth: 16)).parse(request.body)
        guard case .success(let value) = parsed, let object = value.object else {
            throw ConsoleError(status: 400, code: "malformed-json", message: "expected a JSON object")
        }
        return object
    }
}
