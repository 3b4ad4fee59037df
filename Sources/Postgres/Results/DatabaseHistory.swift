/// The history of a database, as one session observes it.
///
/// A value that was read in one history is valid only in an equal one. A server that takes over from another, or that
/// was restored, may lack the last transactions of the former one; it assigns the same numbers again, to other rows.
/// Sessions have equal histories if they belong to one schema and database in one running server, because a server
/// cannot lose commits without a restart.
package struct DatabaseHistory: Hashable, Sendable {
    private let mark: Int

    /// Creates a history; `words` is the answer to ``query``.
    init(_ words: String) {
        // Compared only within this process, so that the random seed of `hashValue` does not matter.
        mark = words.hashValue
    }

    private init(mark: Int) { self.mark = mark }

    /// Returns a history that equals no other.
    static func unknown() -> DatabaseHistory { DatabaseHistory(mark: .random(in: .min ... .max)) }

    /// The query whose first column identifies the history.
    ///
    /// The second column is long: libpq's memory for input grows with the longest message, from 16 to 64 KiB, and never
    /// shrinks. Large answers then take a quarter of the system calls.
    ///
    /// The timeline is that of the next WAL record, because the control file's value lags behind a promotion.
    static let query = """
        SELECT concat_ws(' ', (SELECT system_identifier FROM pg_catalog.pg_control_system()),
            extract(epoch FROM pg_postmaster_start_time()), inet_server_addr(), inet_server_port(),
            (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()),
            (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema()),
            CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END), repeat(' ', 40000)
        """
}
