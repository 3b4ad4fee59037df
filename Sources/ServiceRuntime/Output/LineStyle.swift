/// The emphasis of a line, if a terminal can show it.
package enum LineStyle: Sendable, Equatable {
    case plain
    /// The heading of a table.
    case heading
    /// Details of the line above it.
    case faint
    /// A problem that requires action.
    case bad
    case good

    /// The terminal's code for it.
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
