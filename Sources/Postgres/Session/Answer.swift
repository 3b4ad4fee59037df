import CPostgreSQL

/// Everything that one statement or script came back with, up to the point where the server is ready again.
///
/// A statement has succeeded only when the whole answer is in: an autocommit statement completes first and commits
/// after that, so that an error (a deferred constraint) or the end of the connection may still follow.
struct Answer {
    /// That of the session that asked.
    let history: DatabaseHistory
    private(set) var rows: Rows?
    private(set) var failure: PostgresError?

    init(in history: DatabaseHistory) {
        self.history = history
    }

    /// Takes over one result of libpq; throws when it says that the session is at its end or out of step.
    mutating func take(_ result: OpaquePointer, of attempt: Attempt) throws(Loss) {
        let status = PQresultStatus(result)
        switch status {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            rows = Rows(owning: result, history: history)
        case PGRES_FATAL_ERROR:
            defer { PQclear(result) }
            try take(ServerReport(result), of: attempt)
        case PGRES_PIPELINE_ABORTED:
            PQclear(result)
        default:
            PQclear(result)
            throw Loss("the server answered with a state (\(status.rawValue)) that has no place here, such as COPY")
        }
    }

    private mutating func take(_ report: ServerReport, of attempt: Attempt) throws(Loss) {
        // An error without a SQLSTATE is libpq's own: the connection is gone.
        guard report.sqlState != nil, !report.isFatal else {
            throw Loss(
                report.message,
                sqlState: report.sqlState,
                isCertain: rows == nil && Self.announcedEnds.contains(report.sqlState)
            )
        }
        failure = failure ?? report.error(attempting: attempt.located(at: report.position))
    }

    /// Ends by which the server itself stops a session in the middle of its statement.
    ///
    /// Others, such as 08P01, may come from a pooler that has lost the server and knows no more than we do.
    private static let announcedEnds: Set<SQLState?> = [.adminShutdown, .idleSessionTimeout, .idleInTransactionTimeout]
}
