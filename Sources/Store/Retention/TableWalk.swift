import Postgres

/// A piece of a table by the positions of its rows, without an index.
///
/// In a partitioned table it is a piece of each partition, since they have about the same size.
struct PageRange: Sendable {
    /// The parameters `$1` and `$2` of a statement that scans the piece: the first position, and the end, which is
    /// excluded.
    let bounds: [Parameter]
    /// The page at which the next piece begins; `nil` after the last page.
    let next: Int64?

    /// Returns the condition for a statement in which the table has this alias.
    static func condition(_ table: String) -> String {
        "\(table).ctid >= $1::text::tid AND \(table).ctid < $2::text::tid"
    }

    /// Creates a piece of `pages` pages, beginning at `page`; `nil` after the table's end.
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

    /// Returns the number of pages of the table or of its largest partition, and the number of partitions.
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
