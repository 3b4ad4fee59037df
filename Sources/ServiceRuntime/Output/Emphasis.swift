/// How a line is meant, where a terminal can show it.
package enum Emphasis: Sendable, Equatable {
    case plain
    /// The heading of a table.
    case heading
    /// What says more of the line above it.
    case faint
    /// What somebody should do something about.
    case bad
    case good

    /// The terminal's order for it.
    var code: String? {
        switch self {
        case .plain: nil
        case .heading: "1"
        case .faint: "2"
        case .bad: "31"
        case .good: "32"
        }
    }
}
