/// The course that a database has taken, as one session sees it.
///
/// A value that was read in one history is valid in an equal one only. A server that takes over from another, or that was
/// restored, may lack the last transactions of the former one; it assigns the same numbers again, to other rows. Sessions
/// have equal histories if they are sessions of one schema and database in one running server: a server cannot lose what
/// it has committed without being started again.
package struct DatabaseHistory: Hashable, Sendable {
    private let mark: Int

    /// `words` is the answer to ``query``.
    init(_ words: String) {
        // Compared within this process alone, so that its own seed does no harm.
        mark = words.hashValue
    }

    private init(mark: Int) {
        self.mark = mark
    }

    /// Equal to no other.
    static func unknown() -> DatabaseHistory { DatabaseHistory(mark: .random(in: .min ... .max)) }

    /// The timeline is that of the next WAL record, since the control file's lags behind a promotion.
    static let query = """
        SELECT concat_ws(' ', (SELECT system_identifier FROM pg_catalog.pg_control_system()),
            extract(epoch FROM pg_postmaster_start_time()), inet_server_addr(), inet_server_port(),
            (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()),
            (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema()),
            CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END)
        """
}
