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
    private final class Route: Sendable {
        let body: RouteBody
        let handler: HTTPHandler

        init(body: RouteBody, handler: @escaping HTTPHandler) {
            self.body = body
            self.handler = handler
        }
    }

    fileprivate enum Segment: Hashable, Sendable {
        case literal(String)
        case parameter(String)
    }

    /// A pattern with its routes by method.
    private struct Path: Sendable {
        let pattern: [Segment]
        var routes: [String: Route]
    }

    /// The paths by the number of their segments, which is compared most often; first those with priority.
    private var paths: [Int: [Path]] = [:]

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
        let route = Route(body: body, handler: handler)
        var alike = paths[segments.count] ?? []
        if let place = alike.firstIndex(where: { $0.pattern == segments }) {
            alike[place].routes[method] = route
        } else {
            let place = alike.firstIndex { segments.precedes($0.pattern) } ?? alike.endIndex
            alike.insert(Path(pattern: segments, routes: [method: route]), at: place)
        }
        paths[segments.count] = alike
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
        let segments = request.target.segments
        var methods: Set<String> = []
        for path in paths[segments.count] ?? [] where path.pattern.matches(segments) {
            let route = path.routes[request.method] ?? (request.method == "HEAD" ? path.routes["GET"] : nil)
            if let route { return .route(route, request.with(path.pattern.values(in: segments))) }
            methods.formUnion(path.routes.keys)
        }
        guard methods.isEmpty else { return .absent(Self.notAllowed(methods)) }
        return .absent(.failure(404, code: "not-found", message: "unknown path"))
    }

    private static func notAllowed(_ methods: Set<String>) -> HTTPResponse {
        let all = methods.union(methods.contains("GET") ? ["HEAD"] : [])
        var response = HTTPResponse.failure(
            405,
            code: "method-not-allowed",
            message: "method not allowed for this path"
        )
        response.headers["Allow"] = all.sorted().joined(separator: ", ")
        return response
    }
}

extension [Router.Segment] {
    /// Whether a path of as many segments has the literal ones.
    fileprivate func matches(_ segments: [String]) -> Bool {
        for (expected, segment) in zip(self, segments) {
            switch expected {
            case .literal(let text): if text != segment { return false }
            case .parameter: if segment.isEmpty { return false }
            }
        }
        return true
    }

    /// The values of the places.
    fileprivate func values(in segments: [String]) -> [String: String] {
        var values: [String: String] = [:]
        for case (.parameter(let name), let segment) in zip(self, segments) { values[name] = segment }
        return values
    }

    /// Whether it has a literal at the first segment in which only one of the two has one.
    fileprivate func precedes(_ other: [Router.Segment]) -> Bool {
        let kinds = zip(self, other).first { $0.isLiteral != $1.isLiteral }
        return kinds.map { $0.0.isLiteral } ?? false
    }
}

extension Router.Segment {
    fileprivate var isLiteral: Bool {
        switch self {
        case .literal: true
        case .parameter: false
        }
    }
}

extension HTTPRequest {
    fileprivate func with(_ parameters: [String: String]) -> HTTPRequest {
        guard !parameters.isEmpty else { return self }
        var request = self
        request.parameters = parameters
        return request
    }
}
