import Postgres

/// A piece of a table by the places of its rows, which no index has to know of.
///
/// Of a table with partitions it is a piece of each: they are about equally large.
struct TablePiece: Sendable {
    /// `$1` and `$2` of a statement that looks through it: from the first place on, and up to the second.
    let bounds: [Parameter]
    /// The page at which the next piece begins; nil behind the last one.
    let next: Int64?

    /// For a statement whose table is called by that letter.
    static func condition(_ table: String) -> String {
        "\(table).ctid >= $1::text::tid AND \(table).ctid < $2::text::tid"
    }

    /// Of so many pages from this one on; nil behind the table's end.
    init?(
        of table: String,
        from page: Int64,
        pages: Int64,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let shape = try connection.run(Self.shape, [.text(table)])
        let (size, parts) = (try shape.integer(0, 0), try shape.integer(0, 1))
        guard page >= 0, page < size else { return nil }
        let end = min(size, page + max(1, pages / max(1, parts)))
        bounds = [.text("(\(page),0)"), .text("(\(end),0)")]
        next = end < size ? end : nil
    }

    /// The pages of the table, or of its largest partition; and how many partitions it has.
    private static let shape = Statement(
        """
        SELECT greatest(pg_relation_size($1::text::regclass), max(pg_relation_size(t.relid)))
                   / current_setting('block_size')::bigint,
               count(*)
        FROM pg_partition_tree($1::text::regclass) AS t WHERE t.isleaf
        """,
        effect: .reads
    )
}
