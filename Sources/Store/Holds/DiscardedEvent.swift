package import BellhopRules
package import Postgres

/// An event whose deliveries an operator has discarded behind a hold.
///
/// A discard reaches the deliveries that wait behind the hold. A delivery that a killed worker had claimed returns to it
/// minutes later, possibly after the release. It must not be sent then.
package struct DiscardedEvent: Sendable, Equatable {
    package let event: EventID
    /// The scope of the hold.
    package let scope: HoldScope
    /// When the discard began; later deliveries of the event are not affected.
    package let at: Timestamp

    package init(event: EventID, scope: HoldScope, at: Timestamp) {
        self.event = event
        self.scope = scope
        self.at = at
    }
}

extension DiscardedEvent {
    /// The maximum number of events that workers read, the latest.
    package static let most = 1_000

    /// Returns the latest discarded events, in the order of their discard.
    package static func all(on pool: PostgresPool) async throws(PostgresError) -> [DiscardedEvent] {
        try await pool.run(all, []).compactMap { (rows, row) throws(PostgresError) in try DiscardedEvent(rows, row) }
    }

    /// Creates an event from a row; `nil` if no Bellhop process can have written the row.
    private init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        let (type, provider) = (try rows.text(row, 2), try rows.text(row, 3))
        guard let app = AppID(validating: try rows.text(row, 0)),
            let event = EventID(validating: try rows.text(row, 1)),
            type.isEmpty || EventType(validating: type) != nil
        else { return nil }
        self.init(
            event: event,
            scope: HoldScope(
                app: app,
                type: EventType(validating: type),
                provider: provider.isEmpty ? nil : provider
            ),
            at: try rows.moment(row, 4)
        )
    }

    private static let all = Statement(
        """
        SELECT * FROM (
            SELECT app, event_id, type, provider, discarded_at FROM discarded_events
            ORDER BY discarded_at DESC LIMIT \(most)
        ) AS latest
        ORDER BY discarded_at
        """,
        effect: .reads
    )
}

extension WorkerStore {
    package func discardedEvents() async throws(PostgresError) -> [DiscardedEvent] {
        try await DiscardedEvent.all(on: pool)
    }
}
