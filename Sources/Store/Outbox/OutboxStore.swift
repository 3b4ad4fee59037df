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
        package let slot: Int
        /// The event's JSON.
        ///
        /// An event above the limit, which the table's trigger rejects, is cut. It stays too large.
        package let body: [UInt8]
    }

    /// The answer to a request for rows.
    package struct Batch: Sendable {
        /// In the order of their ids.
        package var rows: [Row] = []
        /// The slots whose rows were read.
        package var readSlots: [Int] = []
        /// The slots that could not be read, because a transaction with an event in them is open.
        package var busySlots: [Int] = []
        /// The slots without a floor.
        package var unknown: UnknownSlots?
    }

    /// Slots that have not been read yet, at a time when no transaction with an event in them was open.
    package struct UnknownSlots: Sendable, Equatable {
        package let slots: [Int]
        /// The last id that had been given out: later transactions have higher ids.
        package let lastID: Int64
    }

    /// The slots that a session owns.
    package struct Share: Sendable, Equatable {
        package let slots: [Int]
        /// The number that identifies the table in locks.
        let table: Int64
    }

    /// The limits of a request for rows, and the rows that it leaves out.
    package struct Request: Sendable {
        /// For each slot, the id up to which its rows are done.
        ///
        /// Slots without a floor are not read. The entries of deleted rows remain in the index until they are vacuumed,
        /// and a floor saves the server from reading them while it locks the slots.
        package var floors: [Int: Int64]
        package var rows: Int
        /// The limit of the bodies; the first row is returned in any case.
        package var bytes: Int
        /// Rows below the floors that are read as well.
        package var again: [Int64] = []
        /// Rows that are left out for now.
        package var without: [Int64] = []

        package init(floors: [Int: Int64] = [:], rows: Int, bytes: Int) {
            self.floors = floors
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
        // Writers wait for a relay that reads their slots.
        options.statementTimeout = .seconds(5)
        options.setUp = [
            // The rows are read after the locks are taken, so their snapshot must be newer, too.
            "SET default_transaction_isolation TO 'read committed'",
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
            for row in locked.indices {
                let slot = Int(try locked.integer(row, 0))
                if try locked.boolean(row, 1) { batch.readSlots.append(slot) } else { batch.busySlots.append(slot) }
            }
            try Self.read(connection, request, into: &batch)
            return batch
        }
    }

    /// Returns the first rows of one slot that is always in use: it waits for the open transactions of the slot, for
    /// at most 50 milliseconds, in which new ones wait as well.
    ///
    /// Returns `nil` if the session does not own the slot or the wait was too short.
    package func rows(insisting slot: Int, _ share: Share, _ request: Request) async throws(StoreError) -> Batch? {
        do throws(StoreError) {
            return try await pool.transaction { [token] (connection) throws(StoreError) in
                try connection.execute("SET LOCAL lock_timeout TO '50ms'")
                let locked = try connection.run(
                    Self.wait,
                    [.text(token), Self.lockNumber(share.table), .integer(Int64(slot))]
                )
                guard !locked.isEmpty else { return nil }
                var batch = Batch(readSlots: [slot])
                try Self.read(connection, request, into: &batch)
                return batch
            }
        } catch  where error.sqlState == .lockTimeout {
            return nil
        }
    }

    /// Returns the floor of slots that have not been read yet.
    ///
    /// It may read all entries of deleted rows, and therefore locks nothing.
    package func floor(of unknown: UnknownSlots) async throws(StoreError) -> Int64 {
        let lowest = try await unlocked(Self.lowest, [.integerArray(unknown.slots.map(Int64.init))])
        // A row above the last id may have been overtaken by one whose transaction is still open.
        return lowest.isEmpty ? unknown.lastID : min(try lowest.integer(0, 0) - 1, unknown.lastID)
    }

    /// Returns the first rows below the floors, such as rows that were set aside or written without the table's
    /// trigger.
    ///
    /// It may read all entries of deleted rows, and therefore locks nothing.
    package func strays(below floors: [Int: Int64], without: [Int64], limit: Int) async throws(StoreError) -> [Int64] {
        let found = try await unlocked(
            Self.below,
            [
                .integer(floors.values.max() ?? 0), .integerArray((0..<OutboxSchema.slots).map { floors[$0] ?? 0 }),
                .integerArray(without), .integer(Int64(limit)),
            ]
        )
        return try found.map { (rows, row) throws(StoreError) in try rows.integer(row, 0) }
    }

    private func unlocked(_ statement: Statement, _ parameters: [Parameter]) async throws(StoreError) -> Rows {
        try await pool.transaction { (connection) throws(StoreError) in
            try connection.execute("SET LOCAL statement_timeout TO '60s'")
            return try connection.run(statement, parameters)
        }
    }

    /// Deletes rows that the broker has confirmed.
    package func delete(_ ids: [Int64]) async throws(StoreError) {
        guard !ids.isEmpty else { return }
        _ = try await pool.run(Self.deletion, [.integerArray(ids)])
    }

    /// Reads the rows of the locked slots.
    private static func read(
        _ connection: PostgresConnection,
        _ request: Request,
        into batch: inout Batch
    ) throws(StoreError) {
        let unknown = batch.readSlots.filter { request.floors[$0] == nil }
        if !unknown.isEmpty {
            batch.unknown = UnknownSlots(slots: unknown, lastID: try connection.run(lastID).integer(0, 0))
            batch.readSlots.removeAll { request.floors[$0] == nil }
        }
        guard let floor = batch.readSlots.compactMap({ request.floors[$0] }).min() else { return }
        let rows = try connection.run(
            first,
            [
                .integer(floor), .integerArray(batch.readSlots.map(Int64.init)), .integerArray(request.again),
                .integerArray(request.without), .integer(Int64(request.rows)), .integer(Int64(request.bytes)),
            ]
        )
        batch.rows = try rows.map { (rows, row) throws(StoreError) in
            Row(id: try rows.integer(row, 0), slot: Int(try rows.integer(row, 1)), body: try rows.json(row, 2))
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

    private static let lastID = Statement(
        "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM \(OutboxSchema.sequence)",
        effect: .reads
    )

    private static let lowest = Statement(
        "SELECT id FROM \(OutboxSchema.table) WHERE slot = ANY($1) ORDER BY id LIMIT 1",
        effect: .reads
    )

    private static let below = Statement(
        """
        SELECT id FROM \(OutboxSchema.table)
        WHERE id <= $1 AND id <= ($2::bigint[])[slot + 1] AND id <> ALL($3)
        ORDER BY id LIMIT $4
        """,
        effect: .reads
    )

    /// The total is that of the rows before, so that the first row is always returned.
    private static let first = Statement(
        """
        SELECT id, slot, body FROM (
            SELECT id, slot, body, sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before
            FROM (
                SELECT id, slot::bigint, left(event::text, \(OutboxSchema.largestEvent) + 1) AS body
                FROM (
                    (SELECT id, slot, event FROM \(OutboxSchema.table) WHERE id = ANY($3) AND slot = ANY($2))
                    UNION ALL
                    (SELECT id, slot, event FROM \(OutboxSchema.table)
                     WHERE id > $1 AND slot = ANY($2) AND id <> ALL($3) AND id <> ALL($4)
                     ORDER BY id LIMIT $5)
                ) AS found
                ORDER BY id LIMIT $5
            ) AS first
        ) AS sized
        WHERE before < $6
        ORDER BY id
        """,
        effect: .reads
    )

    private static let deletion = Statement("DELETE FROM \(OutboxSchema.table) WHERE id = ANY($1)")
}
