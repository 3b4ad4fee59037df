package import ServiceRuntime

/// With whose rights a process works on the schema.
package enum Rights: String, Sendable {
    /// Records notifications, applies feeds, files dead letters.
    case worker = "bellhop_worker"
    /// Serves signed-in users their own rows.
    case api = "bellhop_api"
    /// The operators' desk: everything, the topology's records too.
    case admin = "bellhop_admin"
}

extension Namespace {
    /// What every connection of a pool runs first: this schema only, and no more rights than the role has.
    package func setUp(as rights: Rights) -> [String] {
        ["SET search_path TO \(name)", "SET ROLE \(rights.rawValue)"] + planning(for: rights)
    }

    private func planning(for rights: Rights) -> [String] {
        switch rights {
        case .worker: Self.planning
        // A user's list comes from an index that has its order: sorting it would read all of it.
        // And whoever calls many times at once shall not hold as many connections while one call waits for the other.
        case .api: Self.planning + ["SET enable_sort TO off", "SET lock_timeout TO '2s'"]
        case .admin: []
        }
    }

    /// Workers look up by key, a batch at once, and so does the API for one user: the one plan for that needs no statistics
    /// and suits every batch.
    ///
    /// Left to itself, the server plans the first batches of each connection anew and reads whole tables while it takes
    /// them for small; on tables that grow faster than its statistics they are not small.
    private static let planning = [
        "SET plan_cache_mode TO force_generic_plan", "SET enable_seqscan TO off", "SET enable_memoize TO off",
        // What is due is read in the order of its index, and no further than it takes: a bitmap would gather all of it.
        "SET enable_bitmapscan TO off",
        // Where there is no way but a whole table, the price of having chosen it must not look worth compiling for.
        "SET jit TO off",
    ]
}
