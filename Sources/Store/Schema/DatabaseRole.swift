package import Settings

/// The database role of a process.
package enum DatabaseRole: String, Sendable {
    /// Records notifications, applies feeds, stores dead letters.
    case worker = "bellhop_worker"
    /// Serves signed-in users their own rows.
    case api = "bellhop_api"
    /// For operators: all rights, including the topology's records.
    case admin = "bellhop_admin"
}

extension Namespace {
    /// Returns the first statements of every connection of a pool: they select this schema and restrict the rights to
    /// the role's.
    package func setUp(as rights: DatabaseRole) -> [String] {
        ["SET search_path TO \(name)", "SET ROLE \(rights.rawValue)"] + planning(for: rights)
    }

    private func planning(for rights: DatabaseRole) -> [String] {
        switch rights {
        case .worker: Self.planning
        // A user's list is read from an index in its order, since sorting would read all rows. The lock timeout
        // prevents many concurrent calls of one user from occupying as many connections.
        case .api: Self.planning + ["SET enable_sort TO off", "SET lock_timeout TO '2s'"]
        case .admin: []
        }
    }

    /// Workers look up rows by key for a whole batch, and the API for one user.
    ///
    /// The generic plan for this requires no statistics and suits every batch.
    ///
    /// By default, the server would plan the first batches of each connection separately and scan tables that it
    /// considers small. Tables that grow faster than their statistics are not small.
    private static let planning = [
        "SET plan_cache_mode TO force_generic_plan", "SET enable_seqscan TO off", "SET enable_memoize TO off",
        // Due rows are read in the order of their index, up to the limit. A bitmap scan would read all of them.
        "SET enable_bitmapscan TO off",
        // If only a full table scan is possible, its estimated cost must not trigger JIT compilation.
        "SET jit TO off",
    ]
}
