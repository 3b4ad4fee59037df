/// Answers a request.
package typealias HTTPHandler = @Sendable (HTTPRequest) async -> HTTPResponse

/// The rules of a route for the body of a request.
package struct RouteBody: Sendable {
    let bytes: Int
    let budget: BodyBudget
    let refusal: @Sendable (HTTPRequest) -> HTTPResponse?

    /// - Parameters:
    ///   - bytes: the maximum length of a body.
    ///   - budget: the callers with whom its callers share the bound for all bodies.
    ///   - refusal: the answer to a request whose body must not be received; `nil` if it is received.
    package init(
        atMost bytes: Int,
        within budget: BodyBudget = .usual,
        refusal: @escaping @Sendable (HTTPRequest) -> HTTPResponse? = { _ in nil }
    ) {
        self.bytes = bytes
        self.budget = budget
        self.refusal = refusal
    }

    package static let none = RouteBody(atMost: 0)
}

/// Finds the handler of a method and a path: 404 if no route has the path, 405 with `Allow` if none has the method.
package struct Router: Sendable {
    private struct Route: Sendable {
        let method: String
        let pattern: [Segment]
        let body: RouteBody
        let handler: HTTPHandler
    }

    private enum Segment: Sendable {
        case literal(String)
        case parameter(String)
    }

    private var routes: [Route] = []

    package init() {}

    /// Adds a route such as `/api/reminders/{id}`; a literal segment has priority over a place, and a `GET` also serves
    /// `HEAD`.
    package mutating func add(
        _ method: String,
        _ pattern: String,
        body: RouteBody = .none,
        handler: @escaping HTTPHandler
    ) {
        let segments = pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { segment in
            segment.hasPrefix("{") && segment.hasSuffix("}")
                ? Segment.parameter(String(segment.dropFirst().dropLast())) : .literal(String(segment))
        }
        routes.append(Route(method: method, pattern: segments, body: body, handler: handler))
    }

    /// Answers a request; the whole router as one handler.
    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        switch find(request) {
        case .route(let route, let request): await route.handler(request)
        case .absent(let response): response
        }
    }

    /// Decides by the route whether the body of a request is received; the route's check has access to the `{places}`.
    package func admit(_ request: HTTPRequest) -> BodyAdmission {
        switch find(request) {
        case .route(let route, let request):
            route.body.refusal(request).map(BodyAdmission.refuse)
                ?? .receive(atMost: route.body.bytes, within: route.body.budget)
        case .absent(let response): .refuse(response)
        }
    }

    private enum Finding {
        case route(Route, HTTPRequest)
        case absent(HTTPResponse)
    }

    private func find(_ request: HTTPRequest) -> Finding {
        let candidates = routes.compactMap { route in
            Self.match(route.pattern, request.target.segments).map { (route: route, match: $0) }
        }
        guard !candidates.isEmpty else {
            return .absent(.failure(404, code: "not-found", message: "unknown path"))
        }
        let serving = candidates.filter { $0.route.method == request.method }
        let alternatives = request.method == "HEAD" ? candidates.filter { $0.route.method == "GET" } : []
        let best = (serving.isEmpty ? alternatives : serving).max { $0.match.literals.precedes($1.match.literals) }
        guard let best else { return .absent(Self.notAllowed(candidates.map(\.route.method))) }
        var request = request
        request.parameters = best.match.parameters
        return .route(best.route, request)
    }

    private static func notAllowed(_ methods: [String]) -> HTTPResponse {
        let all = Set(methods).union(methods.contains("GET") ? ["HEAD"] : [])
        var response = HTTPResponse.failure(
            405,
            code: "method-not-allowed",
            message: "method not allowed for this path"
        )
        response.headers["Allow"] = all.sorted().joined(separator: ", ")
        return response
    }

    /// The values of the places, and which segments were literal.
    private struct Match {
        var parameters: [String: String] = [:]
        var literals: [Bool] = []
    }

    private static func match(_ pattern: [Segment], _ segments: [String]) -> Match? {
        guard pattern.count == segments.count else { return nil }
        var match = Match()
        for (expected, segment) in zip(pattern, segments) {
            switch expected {
            case .literal(let text):
                guard text == segment else { return nil }
                match.literals.append(true)
            case .parameter(let name):
                guard !segment.isEmpty else { return nil }
                match.parameters[name] = segment
                match.literals.append(false)
            }
        }
        return match
    }
}

extension [Bool] {
    /// Whether the other one has a literal at the first segment in which they differ.
    fileprivate func precedes(_ other: [Bool]) -> Bool {
        zip(self, other).first { $0 != $1 }.map { !$0.0 } ?? false
    }
}
