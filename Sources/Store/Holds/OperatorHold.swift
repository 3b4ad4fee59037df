package import BellhopRules
package import Postgres

/// The deliveries that an operator stops: an app's, optionally limited to one type, one provider, or one type at one
/// provider.
package struct HoldScope: Hashable, Sendable {
    package let app: AppID
    /// The type; `nil` for every type.
    package let type: EventType?
    /// The provider, as named in metrics; `nil` for every provider and e-mail.
    package let provider: String?

    package init(app: AppID, type: EventType? = nil, provider: String? = nil) {
        self.app = app
        self.type = type
        self.provider = provider
    }

    /// The scope as text, such as `drop`, `drop, type promo` or `drop, type promo, through fcm`.
    package var words: String {
        ([app.text] + [type.map { "type \($0)" }, provider.map { "through \($0)" }].compactMap { $0 })
            .joined(separator: ", ")
    }

    /// Returns whether the hold stops events of a type at an outlet.
    ///
    /// With a `nil` type, only a hold on all types matches.
    package func covers(_ app: AppID, provider: String, type: EventType?) -> Bool {
        self.app == app && (self.provider ?? provider) == provider && (self.type == nil || self.type == type)
    }

    /// Returns whether this scope includes all of another.
    package func contains(_ other: HoldScope) -> Bool {
        app == other.app && (type == nil || type == other.type) && (provider == nil || provider == other.provider)
    }

    /// Returns whether a delivery may be within both scopes.
    package func overlaps(_ other: HoldScope) -> Bool {
        app == other.app && (type == nil || other.type == nil || type == other.type)
            && (provider == nil || other.provider == nil || provider == other.provider)
    }

    /// Returns whether held deliveries of this scope may wait in a backlog.
    package func mayWait(in part: OutletScope) -> Bool {
        guard part.app == app, (provider ?? part.provider) == part.provider else { return false }
        return type == nil || part.type == nil || part.type == type
    }
}

/// A hold in effect.
package struct OperatorHold: Sendable, Equatable {
    package let number: Int64
    package let scope: HoldScope
    package let placedAt: Timestamp
    package let `operator`: String
    package let because: String

    static let columns = "number, app, type, provider, placed_at, operator, because"
}

extension OperatorHold {
    /// Creates a hold from a row; `nil` if no Bellhop process can have written the row.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let app = AppID(validating: try rows.text(row, 1)) else { return nil }
        let (type, provider) = (try rows.text(row, 2), try rows.text(row, 3))
        guard type.isEmpty || EventType(validating: type) != nil else { return nil }
        let scope = HoldScope(
            app: app,
            type: EventType(validating: type),
            provider: provider.isEmpty ? nil : provider
        )
        self.init(
            number: try rows.integer(row, 0),
            scope: scope,
            placedAt: try rows.moment(row, 4),
            operator: try rows.text(row, 5),
            because: try rows.text(row, 6)
        )
    }
}

extension OperatorHold {
    /// The maximum number of holds in effect.
    package static let most = 200

    /// Returns all holds in effect, the oldest first.
    ///
    /// Holds that were placed concurrently may exceed ``most`` by a few.
    package static func all(on pool: PostgresPool) async throws(PostgresError) -> [OperatorHold] {
        try await pool.run(all, []).compactMap { (rows, row) throws(PostgresError) in try OperatorHold(rows, row) }
    }

    private static let all = Statement(
        """
        SELECT \(columns) FROM holds ORDER BY number LIMIT \(most + 50)
        """,
        effect: .reads
    )
}

extension WorkerStore {
    package func holds() async throws(PostgresError) -> [OperatorHold] {
        try await OperatorHold.all(on: pool)
    }
}
