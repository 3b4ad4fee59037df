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
        ["SET search_path TO \(name)", "SET ROLE \(rights.rawValue)"]
    }
}
