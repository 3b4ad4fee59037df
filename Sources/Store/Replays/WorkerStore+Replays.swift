package import Postgres

/// A message from the replay queue that has been processed completely.
package struct ReplayReport: Sendable {
    package let mark: DeadLetterItem.ReplayMark
    package let outcome: ReplayOutcome

    package init(_ mark: DeadLetterItem.ReplayMark, _ outcome: ReplayOutcome) {
        self.mark = mark
        self.outcome = outcome
    }
}

extension WorkerStore {
    /// Resolves the items of processed messages; safe to repeat.
    package func report(_ reports: [ReplayReport]) async throws(PostgresError) {
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
