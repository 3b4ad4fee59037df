import ServiceRuntime

/// One subcommand: what it is called, what it takes, what it does.
protocol Command: Sendable {
    static var name: String { get }
    /// A shorter name that does as well.
    static var alias: String? { get }
    /// One line for the list of commands.
    static var summary: String { get }
    /// The lines of its usage, without `bellhop`; one that begins with a blank goes on with the line before it.
    static var synopsis: [String] { get }
    static var options: [Option] { get }

    init(_ words: Words) throws(CommandFailure)

    func run(_ surroundings: Surroundings) async throws -> ExitCode
}

extension Command {
    static var options: [Option] { [] }
    static var alias: String? { nil }

    static var help: String {
        var lines = synopsis.map { ($0.hasPrefix(" ") ? "        " : "bellhop ") + $0 } + ["", summary]
        if !options.isEmpty {
            lines += ["", "Options:"]
            lines += options.map { option in
                let left = "  --\(option.name)" + (option.value.map { " \($0)" } ?? "")
                return left + String(repeating: " ", count: max(2, 28 - left.count)) + option.help
            }
        }
        lines += [
            "", "Every setting can be a flag too, BELLHOP_AMQP_URL as --amqp-url: bellhop check-config lists them.",
        ]
        return lines.joined(separator: "\n")
    }
}

/// What a command takes from the process around it; tests bring their own.
struct Surroundings: Sendable {
    var environment: [String: String]
    /// Prints a line on stdout.
    var print: @Sendable (String) -> Void
    /// Reads all of stdin.
    var readInput: @Sendable () -> [UInt8]
    /// Who sits at the keyboard; nil where no person does.
    var terminal: Terminal?
    /// Under which name the process runs.
    var user = "unknown"

    /// The configuration under these flags; faults end the command with exit code 78.
    func configuration(_ words: Words, requiring required: Set<Setting> = []) throws -> BellhopConfiguration {
        try BellhopConfiguration.read(flags: words.settings, environment: environment, required: required).get()
    }
}
