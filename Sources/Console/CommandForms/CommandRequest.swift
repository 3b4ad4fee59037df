package import ServiceRuntime

/// The console's call of a command, in the form of command-line arguments.
package struct CommandRequest: Sendable, Equatable {
    /// The command's name and all further words.
    package let words: [String]
    /// The command's stdin.
    package var input: [UInt8] = []
    /// The number of items that the operator has confirmed, or `nil` if it was not asked yet.
    package var agreed: Int?
    /// The time at which the items were counted, as stated in the question, or `nil` if only the number counts.
    package var agreedAsOf: String?

    package init(_ words: [String], input: [UInt8] = [], agreed: Int? = nil, asOf: String? = nil) {
        self.words = words
        self.input = input
        self.agreed = agreed
        agreedAsOf = asOf
    }
}

/// The result of a command.
package struct CommandResult: Sendable, Equatable {
    /// The confirmation that an act requires before it changes anything.
    package struct Confirmation: Sendable, Equatable {
        package let count: Int
        /// Follows "This", such as `discards 12 items of 9 users`.
        package let deed: String
        /// The time of the count.
        ///
        /// If it is sent with the confirmed number, later items are excluded.
        package let asOf: String?

        package init(count: Int, deed: String, asOf: String? = nil) {
            self.count = count
            self.deed = deed
            self.asOf = asOf
        }
    }

    package let exitCode: ExitCode
    /// The output on stdout, with `--json` a single JSON value.
    package let output: String
    /// The output on stderr.
    package let complaint: String
    /// The missing confirmation, because of which nothing was done.
    package let consent: Confirmation?

    package init(_ exitCode: ExitCode, output: String, complaint: String = "", consent: Confirmation? = nil) {
        self.exitCode = exitCode
        self.output = output
        self.complaint = complaint
        self.consent = consent
    }
}

/// Answers questions: the program's own commands, with the console's connection to the database.
package typealias CommandRunner = @Sendable (CommandRequest) async -> CommandResult
