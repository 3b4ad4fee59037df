import Postgres

/// Where a fan-out stands.
package enum FanoutState: String, CaseIterable, Sendable {
    case running
    /// By an operator, or by itself: then it says what troubles it.
    case paused
    /// Nothing more is planned; the pages in hand come to their end.
    case cancelled
    case finished

    /// What can still go on.
    package static let open: Set<FanoutState> = [.running, .paused]
}

/// Which fan-outs are meant; all conditions hold together.
package struct FanoutFilter: Sendable, Equatable {
    package var app: String?
    package var event: String?
    package var type: String?
    package var topic: String?
    /// Single ones; empty for no such condition.
    package var numbers: [Int64] = []
    /// In one of these states; an act narrows this to what it can act upon.
    package var states = Set(FanoutState.allCases)

    package init() {}

    /// Whether it says anything beside the states.
    package var isNarrow: Bool {
        !numbers.isEmpty || [app, event, type, topic].contains { $0 != nil }
    }

    /// The condition on `fanouts f`.
    ///
    /// Only what is asked for stands in the text, so that each combination is planned with the index that suits it.
    var condition: SQLPiece {
        var piece = SQLPiece(sql: "", parameters: [])
        // The names are our own, so they may stand in the text.
        var terms = ["f.state IN (\(states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")))"]
        for (column, value) in [("app", app), ("event_id", event), ("type", type), ("topic", topic)] {
            guard let value else { continue }
            terms.append("f.\(column) = \(piece.bind(.text(value)))")
        }
        if !numbers.isEmpty { terms.append("f.number = ANY(\(piece.bind(.integerArray(numbers)))::bigint[])") }
        piece.sql = terms.joined(separator: " AND ")
        return piece
    }
}
