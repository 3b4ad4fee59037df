package import ServiceRuntime

/// What the console asks of the commands: the words that somebody would type at a terminal.
package struct DeskQuestion: Sendable, Equatable {
    /// The command's name and everything behind it.
    package let words: [String]
    /// What the command reads on stdin.
    package var input: [UInt8] = []
    /// How many the operator has agreed to act on; nil where nobody has asked them yet.
    package var agreed: Int?
    /// When they saw them, in the words of the question; nil where the act goes by the number alone.
    package var agreedAsOf: String?

    package init(_ words: [String], input: [UInt8] = [], agreed: Int? = nil, asOf: String? = nil) {
        self.words = words
        self.input = input
        self.agreed = agreed
        agreedAsOf = asOf
    }
}

/// What a command did and said.
package struct DeskAnswer: Sendable, Equatable {
    /// What an act wants to be agreed to before it changes anything.
    package struct Consent: Sendable, Equatable {
        package let count: Int
        /// Stands after "This", such as `discards 12 items of 9 users`.
        package let deed: String
        /// When they were counted: what comes later is left out, once this is handed in with the number.
        package let asOf: String?

        package init(count: Int, deed: String, asOf: String? = nil) {
            self.count = count
            self.deed = deed
            self.asOf = asOf
        }
    }

    package let exitCode: ExitCode
    /// What it printed on stdout: with `--json` one JSON value.
    package let output: String
    /// What it had to say beside that.
    package let complaint: String
    /// What nobody has agreed to, so that nothing was done.
    package let consent: Consent?

    package init(_ exitCode: ExitCode, output: String, complaint: String = "", consent: Consent? = nil) {
        self.exitCode = exitCode
        self.output = output
        self.complaint = complaint
        self.consent = consent
    }
}

/// Whoever answers: the program's own commands, with the console's connection to the database.
package typealias Desk = @Sendable (DeskQuestion) async -> DeskAnswer
