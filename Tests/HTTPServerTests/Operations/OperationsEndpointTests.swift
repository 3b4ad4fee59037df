import HTTPServer
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@Suite("Operations endpoint", .limitedConcurrency, .timeLimit(.ofTest))
struct OperationsEndpointTests {
    private let log = CapturedLog()

    /// Runs an endpoint on a dedicated port for the body.
    private func withEndpoint(
        _ registry: MetricsRegistry = MetricsRegistry(),
        _ checks: [ReadinessCheck] = [],
        _ body: (UInt16) async throws -> Void
    ) async throws {
        let endpoint = OperationsEndpoint(
            listen: .anyLoopback,
            from: "BELLHOP_METRICS_LISTEN",
            registry: registry,
            checks: checks,
            logger: Logger(label: "test", sink: log)
        )
        let drain = DrainSignal()
        let running = Task { try await endpoint.run(until: drain) }
        try await eventually { endpoint.boundAddress != nil }
        let port = endpoint.boundAddress?.port ?? 0
        try await body(port)
        drain.fire()
        try await running.value
        #expect(await withClient(port) { _ in } == nil, "after the drain nobody listens")
    }

    @Test("the endpoint answers the health check, and logs its address")
    func alive() async throws {
        try await withEndpoint { port in
            let answer = await get(port, "/healthz")
            #expect(answer.status == "200")
            #expect(answer.content == "ok\n")
            #expect(log.records.contains { $0.fields["address"] == .text("http://127.0.0.1:\(port)") })
            #expect(await get(port, "/").status == "404")
            #expect(await get(port, "/healthz", method: "POST").status == "405")
        }
    }

    @Test("the endpoint is ready while every check succeeds, and otherwise names each failed check")
    func readiness() async throws {
        let wrong = Mutex<String?>(nil)
        let checks = [
            ReadinessCheck("database") { wrong.withLock { $0 } }, ReadinessCheck("broker") { nil },
            ReadinessCheck("lanes") { wrong.withLock { $0 }.map { "not consuming: \($0)" } },
        ]
        try await withEndpoint(MetricsRegistry(), checks) { port in
            #expect(await get(port, "/readyz").content == "ready\n")
            wrong.withLock { $0 = "no answer\nforged: line" }
            let answer = await get(port, "/readyz")
            #expect(answer.status == "503")
            #expect(
                answer.content
                    == "database: no answer\\nforged: line\nlanes: not consuming: no answer\\nforged: line\n"
            )
            #expect(await get(port, "/healthz").status == "200")
            wrong.withLock { $0 = nil }
            #expect(await get(port, "/readyz").status == "200")
        }
    }

    @Test("a check that hangs fails in time and runs only once, however often readiness is requested")
    func hangingCheck() async throws {
        let runs = Atomic<Int>(0)
        let release = DrainSignal()
        let check = ReadinessCheck("stuck", timeout: .milliseconds(50)) {
            runs.add(1, ordering: .relaxed)
            await Task { await release.wait() }.value
            return nil
        }
        try await withEndpoint(MetricsRegistry(), [check]) { port in
            for _ in 0..<3 {
                let answer = await get(port, "/readyz")
                #expect(answer.status == "503")
                #expect(answer.content == "stuck: no answer within 50ms\n")
            }
            #expect(runs.load(ordering: .relaxed) == 1)
            release.fire()
            try await eventually { await get(port, "/readyz").status == "200" }
        }
    }

    @Test("concurrent readiness requests get the same answer")
    func askedAtOnce() async throws {
        let check = ReadinessCheck("slow") {
            try? await Task.sleep(for: .milliseconds(20))
            return nil
        }
        try await withEndpoint(MetricsRegistry(), [check]) { port in
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<20 { group.addTask { await get(port, "/readyz").status } }
                for await status in group { #expect(status == "200") }
            }
        }
    }

    @Test("the metrics are the registry's text with Prometheus's content type")
    func metrics() async throws {
        let registry = MetricsRegistry()
        ProcessMetrics.register(in: registry)
        registry.counter("bellhop_events_total", help: "Events.").increment(by: 3)
        try await withEndpoint(registry) { port in
            let answer = await get(port, "/metrics")
            #expect(answer.status == "200")
            #expect(answer.lowercased().contains("content-type: text/plain; version=0.0.4; charset=utf-8\r\n"))
            #expect(answer.content.contains("\nbellhop_events_total 3\n"))
            #expect(answer.content.contains("\nbellhop_process_resident_memory_bytes "))
        }
    }

    @Test("a port in use ends the group with a log line that names the address and the setting")
    func takenPort() async throws {
        try await withServer(handler: { _ in .text("first") }) { server in
            let endpoint = OperationsEndpoint(
                listen: server.address,
                from: "BELLHOP_METRICS_LISTEN",
                registry: MetricsRegistry(),
                checks: [],
                logger: Logger(label: "test", sink: log)
            )
            let group = ServiceGroup(
                [endpoint],
                drainTimeout: LongestWait.duration,
                signals: [],
                logger: Logger(label: "test", sink: log)
            )
            guard case .failed("operations endpoint", let error) = await group.run() else {
                Issue.record("ended otherwise")
                return
            }
            #expect("\(error)".contains("127.0.0.1:\(server.address.port) (BELLHOP_METRICS_LISTEN)"))
            #expect((error as? CommandFailure)?.exitCode == .configuration)
        }
    }
}
