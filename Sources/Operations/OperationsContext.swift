package import AMQP
package import BellhopRules
package import Pipeline
package import Settings
package import Store

/// The configuration, the connections and the time zones with which operations work.
package struct OperationsContext: Sendable {
    package let configuration: BellhopConfiguration
    package let pool: ConnectionPool
    package let zones: ZoneLibrary

    package init(configuration: BellhopConfiguration, pool: ConnectionPool, zones: ZoneLibrary) {
        self.configuration = configuration
        self.pool = pool
        self.zones = zones
    }

    /// Returns the context for one act, whose errors state whether a part of it has happened.
    func forOneAct() -> OperationsContext {
        OperationsContext(configuration: configuration, pool: pool.forOneOperation(), zones: zones)
    }

    /// The time limit for the broker's answer about a page that is refreshed every second or two.
    static let brokersPatience = Duration.seconds(3)

    package var names: TopologyNames { TopologyNames(configuration.namespace) }

    package func broker() throws -> BrokerAddress { try configuration.broker() }

    package func catalogs() throws -> CatalogSet { try configuration.readCatalogs() }

    /// The catalogues for operations that need not have them; `nil` if none are configured, or if one has a fault.
    var readableCatalogs: CatalogSet? { try? catalogs() }
}
