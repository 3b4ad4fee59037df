import BellhopRules
import IntegrationSupport
import Pipeline
import ServiceRuntime
import Settings
import Store
import Synchronization
import TestSupport
import Testing

@Suite(
    "Reloaded catalogues",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct CatalogReloadTests {
    private static func catalogs(label: String = "A", priority: String = "normal") throws -> CatalogSet {
        let text = """
            {app: "one", language: "en", timezone: "UTC",
             types: {a: {priority: "\(priority)", label: {en: "\(label)"}}}}
            """
        return try CatalogSet.load(files: [("one.json5", Array(text.utf8))]).get()
    }

    /// The label of the only type of the active catalogue.
    private static func label(_ source: CatalogSource) -> String? {
        source.current.catalogs.first?.types.first?.labels.values.first
    }

    @Test("valid catalogues become active; an invalid one, or a type moved before its bindings, changes nothing")
    func reloads() async throws {
        try await ServerFixture.withTopology(catalogs: try Self.catalogs()) { servers in
            let source = CatalogSource(servers.catalogs)
            let found = Mutex<Result<CatalogSet, CatalogFaults>>(.success(try Self.catalogs(label: "B")))
            let metrics = MetricsRegistry()
            let reload = CatalogReload(
                source: source,
                read: { try found.withLock { $0 }.get() },
                bindings: BindingStore(pool: servers.pool),
                plan: { TopologyPlan(names: servers.names, catalogs: $0, tiers: ServerFixture.tiers) },
                logger: Logger(label: "test", level: .error, sink: StandardErrorSink(form: .text)),
                metrics: metrics,
                signals: AsyncStream { $0.finish() }
            )
            await reload.reload()
            #expect(Self.label(source) == "B")
            found.withLock { $0 = CatalogSet.load(files: [("one.json5", Array("{app: 7}".utf8))]) }
            await reload.reload()
            #expect(Self.label(source) == "B")
            let moved = try Self.catalogs(label: "C", priority: "high")
            found.withLock { $0 = .success(moved) }
            await reload.reload()
            #expect(Self.label(source) == "B")
            try await BindingStore(pool: servers.owner).record(["one.a": .urgent])
            await reload.reload()
            #expect(Self.label(source) == "C")
            #expect(metrics.text().contains(#"bellhop_catalog_reloads_total{outcome="accepted"} 2"#))
            #expect(metrics.text().contains(#"bellhop_catalog_reloads_total{outcome="refused"} 2"#))
        }
    }
}
