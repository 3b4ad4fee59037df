/// An operation on a session, which is described in text only if it fails.
enum Attempt: CustomStringConvertible {
    case connecting
    case statement(Statement)
    case preparing(Statement)
    /// A script, whose text may contain passwords and does not appear in errors.
    case script(String)
    case command(String)
    case pipeline(Int)

    var description: String {
        switch self {
        case .connecting: "Connecting to PostgreSQL"
        case .statement(let statement): "Running \u{201C}\(statement.summary)\u{201D}"
        case .preparing(let statement): "Preparing \u{201C}\(statement.summary)\u{201D}"
        case .script: "Running a script"
        case .command(let command): command
        case .pipeline(let count): "Running a pipeline of \(count) statements"
        }
    }

    /// Returns the description with the line of the error, if this is a script.
    func located(at position: Int?) -> String {
        guard case .script(let text) = self, let position else { return description }
        let line = text.unicodeScalars.prefix(max(0, position - 1)).reduce(1) { $1 == "\n" ? $0 + 1 : $0 }
        return "\(description) (line \(line))"
    }
}
