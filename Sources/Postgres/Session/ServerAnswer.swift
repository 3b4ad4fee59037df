import CPostgreSQL

/// The complete answer to one statement or script, up to the point at which the server is ready again.
///
/// A statement has succeeded only if the whole answer has arrived. An autocommit statement completes first and commits
/// afterwards, so that an error (a deferred constraint) or the end of the connection may still follow.
struct ServerAnswer {
    /// The history of the session that ran the statement.
    let history: DatabaseHistory
    private(set) var rows: Rows?
    private(set) var failure: PostgresError?

    init(in history: DatabaseHistory) { self.history = history }

    /// Takes ownership of one result of libpq; throws if the result shows that the session has ended or is out of step.
    mutating func take(_ result: OpaquePointer, of attempt: SessionOperation) throws(ConnectionLoss) {
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
            throw ConnectionLoss(
                "the server answered with a state (\(status.rawValue)) that has no place here, such as COPY"
            )
        }
    }

    private mutating func take(_ report: ServerReport, of attempt: SessionOperation) throws(ConnectionLoss) {
        // An error without a SQLSTATE comes from libpq and means that the connection is lost.
        guard report.sqlState != nil, !report.isFatal else {
            throw ConnectionLoss(
                report.message,
                sqlState: report.sqlState,
                isCertain: rows == nil && Self.announcedEnds.contains(report.sqlState)
            )
        }
        failure = failure ?? report.error(attempting: attempt.located(at: report.position))
    }

    /// The codes with which the server itself ends a session in the middle of its statement.
    ///
    /// Other codes, such as 08P01, may come from a pooler that lost the server and does not know the outcome either.
    private static let announcedEnds: Set<SQLState?> = [.adminShutdown, .idleSessionTimeout, .idleInTransactionTimeout]
}
