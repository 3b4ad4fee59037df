import Postgres
import Settings

/// The configuration and the connections with the operators' rights that a process lends to commands inside it.
struct LentConnections: Sendable {
    let configuration: BellhopConfiguration
    let pool: PostgresPool
}
