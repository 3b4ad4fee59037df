import Postgres

/// The state of a fan-out.
package enum FanoutState: String, CaseIterable, Sendable {
    case running
    /// Paused by an operator or, with a recorded trouble, automatically.
    case paused
    /// No further pages are planned. Pages in progress complete.
    case cancelled
    case finished

    /// The states from which a fan-out can continue.
    package static let open: Set<FanoutState> = [.running, .paused]
}

/// Selects fan-outs.
///
/// All conditions must hold.
package struct FanoutFilter: Sendable, Equatable {
    package var app: String?
    package var event: String?
    package var type: String?
    package var topic: String?
    /// The numbers of individual fan-outs; empty for no such condition.
    package var numbers: [Int64] = []
    /// The accepted states; an action restricts them to the states to which it applies.
    package var states = Set(FanoutState.allCases)

    package init() {}

    /// Whether the filter has any condition other than the states.
    package var isNarrow: Bool {
        !numbers.isEmpty || [app, event, type, topic].contains { $0 != nil }
    }

    /// The condition on `fanouts f`.
    ///
    /// The text contains only the given conditions, so that each combination is planned with a suitable index.
    var condition: SQLPiece {
        var piece = SQLPiece(sql: "", parameters: [])
        // The state names are constants of the program and therefore safe in the text.
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
