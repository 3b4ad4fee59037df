import Postgres
import ServiceRuntime
import Store

/// Fills the outbox of a benchmark, in the schema of the benchmark's namespace.
struct BenchmarkOutboxBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of the schema's owner.
    init(pool: PostgresPool) {
        self.pool = pool
    }

    func create() async throws(StoreError) {
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute(OutboxSchema.script)
        }
    }

    /// Writes `count` events for a thousand users in one transaction; the user is the key.
    func write(_ count: Int) async throws(StoreError) {
        _ = try await pool.run(Self.write, [.integer(Int64(count))])
    }

    func waiting() async throws(StoreError) -> Int { try await OutboxLag(of: pool).rows }

    private static let write = Statement(
        """
        INSERT INTO bellhop_outbox (event, key)
        SELECT jsonb_build_object('id', 'bench-' || n, 'app', 'drop', 'eventType', 'qr_payment',
                   'to', jsonb_build_object('user', 'u' || n % 1000), 'title', 'Payment received',
                   'body', 'A payment of 2 000 kr has arrived', 'data', jsonb_build_object('amount', '2 000 kr'),
                   'targetId', 'tx_' || n), 'u' || n % 1000
        FROM generate_series(1, $1::bigint) AS n
        """
    )
}
