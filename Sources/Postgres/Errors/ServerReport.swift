import CPostgreSQL

/// The fields of an error or a notice that may be shown: DETAIL, HINT and CONTEXT may quote rows and are left out.
struct ServerReport {
    let severity: String
    let sqlState: SQLState?
    let message: String
    let table: String?
    let constraint: String?
    /// Where in the statement's text the trouble is, counted in characters from 1.
    let position: Int?

    init(_ result: OpaquePointer) {
        func field(_ code: Int32) -> String? {
            PQresultErrorField(result, code).map { String(cString: $0) }
        }
        severity = field(bellhop_diag_severity) ?? ""
        sqlState = field(bellhop_diag_sqlstate).flatMap { SQLState($0) }
        table = field(bellhop_diag_table)
        constraint = field(bellhop_diag_constraint)
        position = field(bellhop_diag_position).flatMap { Int($0) }
        let primary = field(bellhop_diag_message) ?? String(cString: PQresultErrorMessage(result))
        let flat = Self.flattened(primary)
        message = sqlState?.category == .data ? Self.withholdingQuotes(flat) : flat
    }

    /// The session ends with this message.
    var isFatal: Bool { severity == "FATAL" || severity == "PANIC" }

    func error(attempting attempt: String) -> PostgresError {
        guard let sqlState else {
            return PostgresError(.unexpectedResult, "\(attempt) failed: \(message)")
        }
        var facts = ["SQLSTATE \(sqlState)"]
        if let table { facts.append("table \(table)") }
        if let constraint { facts.append("constraint \(constraint)") }
        let isUnknown = sqlState == .transactionResolutionUnknown || sqlState == .statementCompletionUnknown
        return PostgresError(
            isUnknown ? .outcomeUnknown : .server(sqlState),
            "\(attempt) failed: \(message) (\(facts.joined(separator: ", ")))",
            sqlState: sqlState,
            constraint: constraint,
            table: table
        )
    }
}

extension ServerReport {
    /// Replaces everything from the first quotation mark to the last: between them stand values.
    ///
    /// `invalid input syntax for type integer: "4711"` becomes `invalid input syntax for type integer: (withheld)`.
    /// Other languages quote with other marks, and a value may hold marks of its own, hence first to last.
    static func withholdingQuotes(_ text: String) -> String {
        let marks: Set<Character> = ["\"", "«", "»", "„", "“", "”", "‘", "’", "「", "」"]
        guard let first = text.firstIndex(where: marks.contains), let last = text.lastIndex(where: marks.contains)
        else {
            return text
        }
        return text[..<first] + "(withheld)" + text[text.index(after: last)...]
    }

    /// One line, without the white space around it.
    static func flattened(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }
            .filter { !$0.isEmpty }
            .joined(separator: "; ")
    }
}
