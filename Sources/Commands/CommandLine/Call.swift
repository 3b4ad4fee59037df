import ServiceRuntime

/// One call of a command: its words, and the process around it.
struct Call: Sendable {
    let words: Words
    let surroundings: Surroundings

    /// Whether a program asks.
    var isJSON: Bool { words.has("json") }

    /// What the command stands on, under these flags and this environment; faults end it with exit code 78.
    func footing(requiring required: Set<Setting> = []) throws -> Footing {
        let (flags, environment) = (words.settings, surroundings.environment)
        return Footing(
            configuration: try BellhopConfiguration.read(flags: flags, environment: environment, required: required)
                .get()
        )
    }

    /// Prints an answer: one value for a program, a text of our own layout for people.
    func answer(_ json: @autoclosure () -> JSONText, _ text: @autoclosure () -> String) {
        surroundings.print(isJSON ? json().description : text())
    }

    /// Prints an answer: one value for a program, lines for people, none of which anything in it can end.
    func answer(_ json: @autoclosure () -> JSONText, lines: @autoclosure () -> [String]) {
        for line in isJSON ? [json().description] : lines() { surroundings.print(line: line) }
    }
}
