package import BellhopRules
import Postgres

/// What an operator keeps from being sent: all of an app, or only one type, one provider, or one type at one provider.
package struct HoldScope: Hashable, Sendable {
    package let app: AppID
    /// Nil for every type.
    package let type: EventType?
    /// As metrics name it; nil for every provider, e-mail included.
    package let provider: String?

    package init(app: AppID, type: EventType? = nil, provider: String? = nil) {
        self.app = app
        self.type = type
        self.provider = provider
    }

    /// For people, such as `drop`, `drop, type promo` or `drop, type promo, through fcm`.
    package var words: String {
        ([app.text] + [type.map { "type \($0)" }, provider.map { "through \($0)" }].compactMap { $0 })
            .joined(separator: ", ")
    }

    /// Whether it keeps an outlet from sending events of a type; of none in particular where that is nil.
    package func covers(_ app: AppID, provider: String, type: EventType?) -> Bool {
        self.app == app && (self.provider ?? provider) == provider && (self.type == nil || self.type == type)
    }

    /// Whether all of another is held by this, too.
    package func contains(_ other: HoldScope) -> Bool {
        app == other.app && (type == nil || type == other.type) && (provider == nil || provider == other.provider)
    }

    /// Whether something may be held by both.
    package func overlaps(_ other: HoldScope) -> Bool {
        app == other.app && (type == nil || other.type == nil || type == other.type)
            && (provider == nil || other.provider == nil || provider == other.provider)
    }

    /// Whether something of it may wait in a backlog.
    package func mayWait(in part: OutletPart) -> Bool {
        guard part.app == app, (provider ?? part.provider) == part.provider else { return false }
        return type == nil || part.type == nil || part.type == type
    }
}

/// A hold that is in force.
package struct OperatorHold: Sendable, Equatable {
    package let number: Int64
    package let scope: HoldScope
    package let placedAt: Timestamp
    package let `operator`: String
    package let because: String

    static let columns = "number, app, type, provider, placed_at, operator, because"
}

extension OperatorHold {
    /// Nil for a row that no program of ours wrote.
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
