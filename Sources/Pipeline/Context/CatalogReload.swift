package import BellhopRules
package import ServiceRuntime
package import Store

/// Puts the catalogues into force that it finds on disk when the process gets a SIGHUP.
///
/// Batches that have begun end with the catalogues they began with, so no message is lost or judged by two. What cannot
/// be used leaves the old ones in force: files with faults, and catalogues that move a type to another lane before
/// `bellhop topology apply` has moved its bindings.
package struct CatalogReload: Service {
    package let name = "catalogues"
    private let source: CatalogSource
    private let read: @Sendable () throws -> CatalogSet
    private let bindings: BindingBook
    private let plan: @Sendable (CatalogSet) -> TopologyPlan
    private let logger: Logger
    private let reloads: Labelled<Counter>
    private let signals: AsyncStream<ProcessSignal>

    /// `signals` should begin before the catalogues are read for the first time, so that none comes too early.
    package init(
        source: CatalogSource,
        read: @escaping @Sendable () throws -> CatalogSet,
        bindings: BindingBook,
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

    /// What is to be done where the broker does not know yet what new catalogues want.
    package static let applyFirst = "bellhop topology apply, then SIGHUP again"

    /// Reads, checks, and puts into force.
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

    /// A routing key that does not lead to the lane that the catalogues want; nil where all do.
    private func stray(_ catalogs: CatalogSet) async throws -> (key: String, why: String)? {
        let applied = try await bindings.all()
        let keys = plan(catalogs).lanes.sorted { $0.key < $1.key }
        guard let key = keys.first(where: { applied[$0.key] != $0.value })?.key else { return nil }
        return (key, applied[key] == nil ? "a new type is not bound yet" : "a type would change its lane")
    }
}
