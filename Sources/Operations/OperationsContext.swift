package import AMQP
package import BellhopRules
package import Pipeline
package import Settings
package import Store

/// What operations work with: the configuration, and connections with the operators' rights.
package struct OperationsContext: Sendable {
    package let configuration: BellhopConfiguration
    package let pool: ConnectionPool

    package init(configuration: BellhopConfiguration, pool: ConnectionPool) {
        self.configuration = configuration
        self.pool = pool
    }

    package var names: TopologyNames { TopologyNames(configuration.namespace) }

    package func broker() throws -> BrokerAddress { try configuration.broker() }

    package func catalogs() throws -> CatalogSet { try configuration.readCatalogs() }
}
