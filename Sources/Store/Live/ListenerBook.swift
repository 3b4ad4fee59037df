package import Postgres
package import ServiceRuntime

/// Who has pages open, and the way to tell them that an inbox has changed.
///
/// A process that has any keeps a row with a lease: as long as there is none, nobody announces anything.
package struct ListenerBook: Sendable {
    private let pool: PostgresPool
    /// Where changes are announced.
    package let channel: String

    package init(pool: PostgresPool, namespace: Namespace) {
        self.pool = pool
        channel = Self.channel(of: namespace)
    }

    /// The channel of an installation; there may be others in the same database.
    package static func channel(of namespace: Namespace) -> String { "\(namespace).live" }

    /// Whether anybody listens.
    package func isHeard() async throws(PostgresError) -> Bool {
        try await pool.run(Self.heard, []).boolean(0, 0)
    }

    /// From now on a process listens, for as long as `lease` unless it says so again.
    package func listen(as process: Int64, for lease: Duration) async throws(PostgresError) {
        _ = try await pool.run(Self.listen, [.integer(process), .integer(lease.milliseconds)])
    }

    /// A process listens no more; rows of processes that died go, too.
    package func leave(_ process: Int64) async throws(PostgresError) {
        _ = try await pool.run(Self.leave, [.integer(process)])
    }

    /// Announces that these inboxes have changed, in one transaction of its own.
    ///
    /// It is not waited for that the disk has it: what a crash takes away with it is found by the next look.
    package func announce(_ signs: some Collection<InboxSign> & Sendable) async throws(PostgresError) {
        guard !signs.isEmpty else { return }
        _ = try await pool.run(Self.announce, [.text(channel), .textArray(InboxSign.payloads(signs))])
    }

    private static let heard = Statement(
        "SELECT EXISTS (SELECT FROM listeners WHERE until > now())",
        effect: .reads
    )

    private static let listen = Statement(
        """
        INSERT INTO listeners (process, until) VALUES ($1, now() + $2::bigint * interval '1 ms')
        ON CONFLICT (process) DO UPDATE SET until = excluded.until
        """
    )

    private static let leave = Statement("DELETE FROM listeners WHERE process = $1 OR until < now() - interval '1 min'")

    private static let announce = Statement(
        """
        SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload)
        FROM (SELECT unnest($2::text[]) AS payload) AS payloads
        """
    )
}
