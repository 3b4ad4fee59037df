import ServiceRuntime

/// One call of a command: its words, and the process around it.
struct Call: Sendable {
    let words: Words
    let shell: Shell
    /// All commands of the program, for those that speak of the others.
    var commands: [any Command.Type] = []

    /// Whether a program asks.
    var isJSON: Bool { words.has("json") }

    /// Prints an answer: one value for a program, a text of our own layout for people.
    func answer(_ json: @autoclosure () -> JSONText, _ text: @autoclosure () -> String) {
        shell.print(isJSON ? json().description : text())
    }

    /// Prints an answer: one value for a program, lines for people, none of which anything in it can end.
    func answer(_ json: @autoclosure () -> JSONText, lines: @autoclosure () -> [String]) {
        for line in isJSON ? [json().description] : lines() { shell.print(line: line) }
    }
}
