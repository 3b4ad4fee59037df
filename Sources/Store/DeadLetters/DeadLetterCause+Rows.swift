import Postgres

extension DeadLetterCause {
    /// The columns of all members in their order, each behind `prefix`.
    static func columns(_ prefix: String = "") -> String {
        Member.allCases.map { prefix + $0.column }.joined(separator: ", ")
    }

    /// From ``columns(_:)``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        try self.init { (member) throws(PostgresError) in try rows.optionalText(row, .name(member.column)) }
    }

    /// A parameter of the statement for each of these members.
    static func parameters(_ members: some Sequence<Member>, of causes: [DeadLetterCause]) -> [Parameter] {
        members.map { member in .textArray(causes.map { $0[member] }) }
    }
}
