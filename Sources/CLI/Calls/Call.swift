package import BellhopJSON
package import ServiceRuntime
package import Settings

/// One call of a command: its words, and the process around it.
package struct Call: Sendable {
    package let words: Words
    package let shell: CommandEnvironment
    /// All commands of the program, for commands that describe the others.
    package let commands: [any Command.Type]

    package init(words: Words, shell: CommandEnvironment, commands: [any Command.Type] = []) {
        self.words = words
        self.shell = shell
        self.commands = commands
    }

    /// Whether the caller is a program.
    package var isJSON: Bool { words.has("json") }

    /// Returns the configuration from the command's flags and the environment.
    ///
    /// Faults end the command with exit code 78. A missing file is one only if the command reads `files` with its
    /// setting, or requires it.
    package func configuration(
        requiring required: Set<Setting> = [],
        reading files: Set<Setting> = Setting.usualFiles
    ) throws(ConfigurationFaults) -> BellhopConfiguration {
        try BellhopConfiguration.read(
            flags: words.settings,
            environment: shell.environment,
            required: required,
            files: files
        ).get()
    }

    /// Prints an answer: one JSON value for a program, or a text that Bellhop laid out for people.
    package func answer(_ json: @autoclosure () -> JSONValue, _ text: @autoclosure () -> String) {
        shell.print(isJSON ? json().written : text())
    }

    /// Prints an answer: one JSON value for a program, or lines for people.
    ///
    /// No content can end a line.
    package func answer(
        _ json: @autoclosure () -> JSONValue,
        lines: @autoclosure () -> [String],
        emphasis: (_ index: Int, _ line: String) -> LineStyle = { _, _ in .plain }
    ) {
        guard !isJSON else { return shell.print(line: json().written) }
        for (index, line) in lines().enumerated() { shell.output.print(line: line, emphasis(index, line)) }
    }

    /// Prints an answer: one JSON value for a program, or paragraphs that are filled to a person's terminal.
    package func answer(_ json: @autoclosure () -> JSONValue, prose: @autoclosure () -> [String]) {
        answer(json(), lines: shell.output.filled(prose()))
    }

    /// Prints paragraphs that are filled to a person's terminal.
    package func tell(_ prose: [String]) {
        for line in shell.output.filled(prose) { shell.print(line: line) }
    }

    /// Shows lines that are read again every two seconds, until Ctrl-C.
    package func watch(
        _ lines: () async throws -> [String],
        emphasis: (_ index: Int, _ line: String) -> LineStyle
    ) async throws -> Never {
        try expectScreen()
        while true {
            show(try await lines(), emphasis)
            try await pauseOnScreen()
        }
    }

    /// Shows lines that are read again every two seconds, until there is a result, or until Ctrl-C.
    package func watch<End>(
        _ look: () async throws -> (lines: [String], end: End?),
        emphasis: (_ index: Int, _ line: String) -> LineStyle
    ) async throws -> End {
        try expectScreen()
        while true {
            let (lines, end) = try await look()
            show(lines, emphasis)
            if let end { return end }
            try await pauseOnScreen()
        }
    }

    private func expectScreen() throws(CommandFailure) {
        guard shell.output.isTerminal, !isJSON else {
            throw words.misuse("--watch requires a terminal and cannot be combined with --json")
        }
    }

    private func show(_ lines: [String], _ emphasis: (_ index: Int, _ line: String) -> LineStyle) {
        shell.output.showScreen(lines.enumerated().map { (text: $1, emphasis: emphasis($0, $1)) })
    }

    private func pauseOnScreen() async throws {
        guard shell.output.isOpen else { throw CancellationError() }
        try await Task.sleep(for: .seconds(2))
    }
}
