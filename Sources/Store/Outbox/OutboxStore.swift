package import Postgres
import ServiceRuntime

/// The outbox of a publisher's database, as one relay sees it.
///
/// The pool must have exactly one connection: the locks that give the relay its slots belong to that session. A new
/// session has no slots, which each method detects.
package struct OutboxStore: Sendable {
    /// One row that was read.
    package struct Row: Sendable, Equatable {
        package let id: Int64
        /// The event's JSON.
        ///
        /// An event above the limit, which the table's trigger rejects, is cut. It stays too large.
        package let body: [UInt8]
    }

    /// The answer to a request for rows.
    package struct Batch: Sendable {
        /// In the order of their ids.
        package var rows: [Row] = []
        /// The slots that could not be read, because a transaction with an event in them is open.
        package var busySlots: [Int] = []
    }

    /// The slots that a session owns.
    package struct Share: Sendable, Equatable {
        package let slots: [Int]
        /// The number that identifies the table in locks.
        let table: Int64
    }

    /// The limits of a request for rows, and the rows that it leaves out.
    package struct Request: Sendable {
        /// Rows up to this id are done.
        package var floor: Int64 = 0
        package var rows: Int
        /// The limit of the bodies; the first row is returned in any case.
        package var bytes: Int
        /// Rows that are left out for now.
        package var without: [Int64] = []

        package init(rows: Int, bytes: Int) {
            self.rows = rows
            self.bytes = bytes
        }
    }

    private let pool: PostgresPool
    /// The name by which a session recognises itself.
    private let token: String

    package init(pool: PostgresPool, token: String) {
        self.pool = pool
        self.token = token
    }

    /// Returns the options of the pool for this store.
    package static func poolOptions(_ url: DatabaseURL) -> PoolOptions {
        var options = PoolOptions(url: url)
        options.size = 1...1
        options.applicationName = "bellhop relay"
        options.setUp = [
            // A lost deletion is repeated. The event is then published again under the same id.
            "SET synchronous_commit TO off",
            // Without these, the server would keep the locks of a relay whose host has died for hours.
            "SET tcp_keepalives_idle TO 10", "SET tcp_keepalives_interval TO 5", "SET tcp_keepalives_count TO 3",
            // Rows are always read in the order of the primary key, regardless of the statistics of an empty table.
            "SET plan_cache_mode TO force_generic_plan", "SET enable_seqscan TO off", "SET enable_bitmapscan TO off",
            "SET jit TO off",
        ]
        return options
    }

    /// Takes this relay's share of the slots, and gives up slots beyond it.
    ///
    /// With n relays, each takes at most a n-th of the slots, rounded up.
    package func takeShare() async throws(StoreError) -> Share {
        try await pool.withConnection { [token] (connection) throws(StoreError) in
            let table = try connection.run(Self.table).integer(0, 0)
            let number = Self.lockNumber(table)
            _ = try connection.run(Self.enlist, [.text(token), number])
            let locks = try connection.run(Self.locks, [.integer(table)])
            var (relays, mine, others) = (0, [Int](), Set<Int>())
            for row in locks.indices {
                let lock = try locks.integer(row, 0)
                guard lock != Self.relayLock else {
                    relays += 1
                    continue
                }
                let slot = Int(lock - Self.firstOwnerLock)
                if try locks.boolean(row, 1) { mine.append(slot) } else { others.insert(slot) }
            }
            let share = (OutboxSchema.slots + max(1, relays) - 1) / max(1, relays)
            if mine.count > share {
                let surplus = mine.suffix(mine.count - share)
                _ = try connection.run(Self.release, [number, .integerArray(surplus.map(Int64.init))])
                mine.removeLast(surplus.count)
            } else if mine.count < share {
                let free = (0..<OutboxSchema.slots).filter { !mine.contains($0) && !others.contains($0) }
                let wanted = free.prefix(share - mine.count).map(Int64.init)
                let taken = try connection.run(Self.take, [number, .integerArray(wanted)])
                for row in taken.indices { mine.append(Int(try taken.integer(row, 0))) }
            }
            return Share(slots: mine.sorted(), table: table)
        }
    }

    /// Returns the first rows of the share; `nil` if the session does not own it (any longer).
    ///
    /// A slot is read while it is locked against writers: no transaction with a lower id in it is open, so that the
    /// rows of a key are read in the order of their ids. A slot that is in use is skipped and not waited for.
    package func rows(_ share: Share, _ request: Request) async throws(StoreError) -> Batch? {
        let slots = share.slots.map(Int64.init)
        return try await pool.transaction { [token] (connection) throws(StoreError) in
            let locked = try connection.run(
                Self.lock,
                [.text(token), Self.lockNumber(share.table), .integerArray(slots)]
            )
            guard !locked.isEmpty else { return nil }
            var batch = Batch()
            var free: [Int64] = []
            for row in locked.indices {
                let slot = try locked.integer(row, 0)
                if try locked.boolean(row, 1) { free.append(slot) } else { batch.busySlots.append(Int(slot)) }
            }
            batch.rows = try Self.read(connection, free, request)
            return batch
        }
    }

    /// Returns the first rows of one slot that is always in use: it waits for the open transactions of the slot, for
    /// at most 50 milliseconds, in which new ones wait as well.
    ///
    /// Returns `nil` if the session does not own the slot or the wait was too short.
    package func rows(insisting slot: Int, _ share: Share, _ request: Request) async throws(StoreError) -> [Row]? {
        do throws(StoreError) {
            return try await pool.transaction { [token] (connection) throws(StoreError) in
                try connection.execute("SET LOCAL lock_timeout TO '50ms'")
                let locked = try connection.run(
                    Self.wait,
                    [.text(token), Self.lockNumber(share.table), .integer(Int64(slot))]
                )
                guard !locked.isEmpty else { return nil }
                return try Self.read(connection, [Int64(slot)], request)
            }
        } catch  where error.sqlState == .lockTimeout {
            return nil
        }
    }

    /// Deletes rows that the broker has confirmed.
    package func delete(_ ids: [Int64]) async throws(StoreError) {
        guard !ids.isEmpty else { return }
        _ = try await pool.run(Self.deletion, [.integerArray(ids)])
    }

    private static func read(
        _ connection: PostgresConnection,
        _ slots: [Int64],
        _ request: Request
    ) throws(StoreError) -> [Row] {
        guard !slots.isEmpty else { return [] }
        let rows = try connection.run(
            first,
            [
                .integer(request.floor), .integerArray(slots), .integerArray(request.without),
                .integer(Int64(request.rows)), .integer(Int64(request.bytes)),
            ]
        )
        return try rows.map { (rows, row) throws(StoreError) in
            Row(id: try rows.integer(row, 0), body: try rows.json(row, 1))
        }
    }
}

extension OutboxStore {
    /// The lock that each relay shares, so that they can be counted.
    private static let relayLock: Int64 = 128
    /// The lock of the owner of slot 0; those of the writers of a slot begin at 0.
    private static let firstOwnerLock: Int64 = 64

    /// Converts a table's number as PostgreSQL's cast from `oid` to `integer` does.
    private static func lockNumber(_ table: Int64) -> Parameter {
        .integer(Int64(Int32(truncatingIfNeeded: table)))
    }

    private static let table = Statement("SELECT '\(OutboxSchema.table)'::regclass::oid::bigint", effect: .reads)

    private static let enlist = Statement(
        """
        SELECT set_config('bellhop.relay', $1, false), pg_advisory_lock_shared($2::integer, \(relayLock))
        WHERE current_setting('bellhop.relay', true) IS DISTINCT FROM $1
        """
    )

    private static let locks = Statement(
        """
        SELECT l.objid::bigint, l.pid = pg_backend_pid() FROM pg_locks l
        WHERE l.locktype = 'advisory' AND l.classid = $1::bigint::oid AND l.objsubid = 2
          AND l.objid::bigint BETWEEN \(firstOwnerLock) AND \(relayLock)
          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        """,
        effect: .reads
    )

    private static let take = Statement(
        """
        SELECT s.slot::bigint FROM unnest($2::integer[]) AS s (slot)
        WHERE pg_try_advisory_lock($1::integer, \(firstOwnerLock) + s.slot)
        """
    )

    private static let release = Statement(
        """
        SELECT pg_advisory_unlock($1::integer, \(firstOwnerLock) + s.slot) FROM unnest($2::integer[]) AS s (slot)
        """
    )

    private static let lock = Statement(
        """
        SELECT s.slot::bigint, pg_try_advisory_xact_lock($2::integer, s.slot) FROM unnest($3::integer[]) AS s (slot)
        WHERE current_setting('bellhop.relay', true) = $1
        """
    )

    private static let wait = Statement(
        """
        SELECT pg_advisory_xact_lock($2::integer, $3::integer) WHERE current_setting('bellhop.relay', true) = $1
        """
    )

    /// The total is that of the rows before, so that the first row is always returned.
    private static let first = Statement(
        """
        SELECT id, body FROM (
            SELECT id, body, sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before
            FROM (
                SELECT o.id, left(o.event::text, \(OutboxSchema.largestEvent) + 1) AS body
                FROM \(OutboxSchema.table) o
                WHERE o.id > $1 AND o.slot = ANY($2) AND o.id <> ALL($3)
                ORDER BY o.id LIMIT $4
            ) AS first
        ) AS sized
        WHERE before < $5
        ORDER BY id
        """,
        effect: .reads
    )

    private static let deletion = Statement("DELETE FROM \(OutboxSchema.table) WHERE id = ANY($1)")
}
