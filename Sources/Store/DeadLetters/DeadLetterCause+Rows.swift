import Postgres

extension DeadLetterCause {
    /// Returns the columns of all members in their order, each with the prefix.
    static func columns(_ prefix: String = "") -> String {
        Member.allCases.map { prefix + $0.column }.joined(separator: ", ")
    }

    /// Creates a cause from ``columns(_:)``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        try self.init { (member) throws(PostgresError) in try rows.optionalText(row, .name(member.column)) }
    }

    /// Returns an array parameter for each of these members.
    static func parameters(_ members: some Sequence<Member>, of causes: [DeadLetterCause]) -> [Parameter] {
        members.map { member in .textArray(causes.map { $0[member] }) }
    }
}
