package import Postgres

/// The workers' reports of processed messages from the replay queue.
package struct ReplayReportStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// A message that has been processed completely.
    package struct Report: Sendable {
        package let mark: DeadLetterItem.ReplayMark
        package let outcome: ReplayOutcome

        package init(_ mark: DeadLetterItem.ReplayMark, _ outcome: ReplayOutcome) {
            self.mark = mark
            self.outcome = outcome
        }
    }

    /// Resolves the items; safe to repeat.
    package func settle(_ reports: [Report]) async throws(PostgresError) {
        guard !reports.isEmpty else { return }
        _ = try await pool.run(
            ReplayStatements.settleMessages,
            [
                .textArray(reports.map(\.mark.item)), .integerArray(reports.map(\.mark.replay)),
                .integerArray(reports.map { Int64($0.mark.round) }), .textArray(reports.map(\.outcome.rawValue)),
            ]
        )
    }
}
