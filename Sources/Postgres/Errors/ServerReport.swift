import CPostgreSQL

/// The displayable fields of an error or a notice.
///
/// DETAIL, HINT and CONTEXT may quote rows and are not read.
struct ServerReport {
    let severity: String
    let sqlState: SQLState?
    let message: String
    let table: String?
    let constraint: String?
    /// The position of the error in the statement's text, counted in characters from 1.
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

    /// Whether the session ends with this message.
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
    /// Replaces everything from the first quotation mark to the last, because values appear between them.
    ///
    /// `invalid input syntax for type integer: "4711"` becomes `invalid input syntax for type integer: (withheld)`.
    /// Other languages use other quotation marks, and a value may contain marks too, so that the range is from the
    /// first to the last.
    static func withholdingQuotes(_ text: String) -> String {
        let marks: Set<Character> = ["\"", "«", "»", "„", "“", "”", "‘", "’", "「", "」"]
        guard let first = text.firstIndex(where: marks.contains), let last = text.lastIndex(where: marks.contains)
        else {
            return text
        }
        return text[..<first] + "(withheld)" + text[text.index(after: last)...]
    }

    /// Returns the text as one line, without leading white space and empty lines.
    static func flattened(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }
            .filter { !$0.isEmpty }
            .joined(separator: "; ")
    }
}
