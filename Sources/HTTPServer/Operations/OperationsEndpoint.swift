package import ServiceRuntime

/// The operations endpoint of every process: `GET /healthz`, `GET /readyz` and `GET /metrics`.
package struct OperationsEndpoint: Service {
    private let service: HTTPService

    /// - Parameters:
    ///   - address: normally a loopback address; every client that reaches it can read the endpoint.
    ///   - setting: the name of the setting that defines the address.
    ///   - registry: the metrics of `/metrics`.
    ///   - checks: the checks of `/readyz`, which run concurrently.
    ///   - logger: receives the address on which it listens.
    package init(
        listen address: ListenAddress,
        from setting: String,
        registry: MetricsRegistry,
        checks: [ReadinessCheck],
        logger: Logger
    ) {
        let router = Self.router(registry, checks)
        service = HTTPService(
            name: "operations endpoint",
            at: HTTPService.Place(address, from: setting),
            limits: HTTPLimits(
                bodyBytes: 0,
                connections: 64,
                receiveTimeout: .seconds(10),
                sendTimeout: .seconds(10)
            ),
            logger: logger,
            handler: router.respond(to:)
        )
    }

    package var name: String { service.name }

    /// The address on which it currently listens, with the real port; `nil` before and after.
    package var boundAddress: ListenAddress? { service.boundAddress }

    package func run(until drain: DrainSignal) async throws { try await service.run(until: drain) }

    private static func router(_ registry: MetricsRegistry, _ checks: [ReadinessCheck]) -> Router {
        var router = Router()
        router.add("GET", "/healthz") { _ in .text("ok\n") }
        router.add("GET", "/readyz") { _ in await readiness(checks) }
        router.add("GET", "/metrics") { _ in
            var response = HTTPResponse.text(registry.text())
            response.headers["Content-Type"] = "text/plain; version=0.0.4; charset=utf-8"
            return response
        }
        return router
    }

    /// Returns 200 `ready`, or 503 with one line per failing check, in the order of the checks.
    private static func readiness(_ checks: [ReadinessCheck]) async -> HTTPResponse {
        let failures = await withTaskGroup(of: (Int, String?).self) { group in
            for (index, check) in checks.enumerated() {
                group.addTask { (index, await check.outcome()) }
            }
            return await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
        }
        guard !failures.isEmpty else { return .text("ready\n") }
        let lines = failures.sorted { $0.key < $1.key }.map { index, wrong in
            "\(checks[index].name): \(wrong)".escapingControls() + "\n"
        }
        return .text(lines.joined(), status: 503)
    }
}
