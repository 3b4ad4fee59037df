package import BellhopRules
package import ServiceRuntime
package import Settings
package import Store

/// Reloads the catalogues from disk when the process receives a SIGHUP.
///
/// Running batches keep the catalogues with which they began, so no message is lost or processed with two. The old
/// catalogues stay active if the new ones are invalid, or if they move a type to another lane before `bellhop topology
/// apply` has moved its bindings.
package struct CatalogReload: Service {
    package let name = "catalogues"
    private let source: CatalogSource
    private let read: @Sendable () throws -> CatalogSet
    private let bindings: BindingStore
    private let plan: @Sendable (CatalogSet) -> TopologyPlan
    private let logger: Logger
    private let reloads: LabelledMetric<Counter>
    private let signals: AsyncStream<ProcessSignal>

    /// Creates it; `signals` must begin before the first read of the catalogues, so that no signal is missed.
    package init(
        source: CatalogSource,
        read: @escaping @Sendable () throws -> CatalogSet,
        bindings: BindingStore,
        plan: @escaping @Sendable (CatalogSet) -> TopologyPlan,
        logger: Logger,
        metrics: MetricsRegistry,
        signals: AsyncStream<ProcessSignal>
    ) {
        self.source = source
        self.read = read
        self.bindings = bindings
        self.plan = plan
        self.logger = logger.labelled(name)
        reloads = metrics.counter(
            "bellhop_catalog_reloads_total",
            help: "Catalogues read again on SIGHUP: accepted, or refused and the old ones kept.",
            labels: ["outcome"]
        )
        self.signals = signals
    }

    package func run(until drain: DrainSignal) async throws {
        await ProcessSignal.attend(signals, until: drain) { await reload() }
    }

    /// The instruction for an operator if the broker does not have the new catalogues' bindings yet.
    package static let applyFirst = "bellhop topology apply, then SIGHUP again"

    /// Reads and checks the catalogues, and activates them.
    package func reload() async {
        do {
            let catalogs = try read()
            if let stray = try await stray(catalogs) {
                logger.error(
                    "new catalogues rejected: \(stray.why)",
                    [
                        "routingKey": .text(stray.key),
                        "whatToDo": .text(Self.applyFirst),
                    ]
                )
                source.refuse(because: "\(stray.why) (\(stray.key)): \(Self.applyFirst)")
                return reloads.with("refused").increment()
            }
            source.replace(catalogs)
            logger.notice(
                "catalogues reloaded",
                ["apps": .integer(catalogs.catalogs.count), "catalogues": .text(catalogs.fingerprint)]
            )
            reloads.with("accepted").increment()
        } catch {
            logger.error("new catalogues rejected, keeping the old ones", ["error": .error(error)])
            source.refuse(because: String(String(describing: error).prefix(500)))
            reloads.with("refused").increment()
        }
    }

    /// Returns a routing key whose binding differs from the new catalogues' lane, with the reason; `nil` if there is
    /// none.
    private func stray(_ catalogs: CatalogSet) async throws -> (key: String, why: String)? {
        let applied = try await bindings.all()
        let keys = plan(catalogs).lanes.sorted { $0.key < $1.key }
        guard let key = keys.first(where: { applied[$0.key] != $0.value })?.key else { return nil }
        return (key, applied[key] == nil ? "a new type is not bound yet" : "a type would change its lane")
    }
}
