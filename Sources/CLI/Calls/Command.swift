package import ServiceRuntime

/// One subcommand: its name, its options and its action.
package protocol Command: Sendable {
    static var name: String { get }
    /// A shorter name with the same meaning.
    static var alias: String? { get }
    /// One line for the list of commands.
    static var summary: String { get }
    /// The ways to call the command, each without `bellhop`.
    ///
    /// A long one is broken before a bracket.
    static var synopsis: [String] { get }
    static var options: [Option] { get }
    /// Whether the command runs until a signal ends it, and writes a log to stderr.
    static var isRole: Bool { get }
    /// Whether the process holds no keys, so that it may be dumped and profiled.
    static var mayBeDumped: Bool { get }

    /// Returns the text of `--help`.
    ///
    /// If the words name a verb of the command, the text describes this verb.
    static func help(for words: [String]) -> String

    static func run(_ call: Call) async throws -> ExitCode
}

extension Command {
    package static var options: [Option] { [] }
    package static var alias: String? { nil }
    package static var isRole: Bool { false }
    package static var mayBeDumped: Bool { false }

    package static func help(for words: [String]) -> String { help }

    package static var help: String { help(synopsis: synopsis, summary, options: options, example: nil) }

    /// Returns the help text of a verb, which takes the options in `known`.
    package static func help(verb usage: String, _ purpose: String, options known: Set<String>, example: String)
        -> String
    {
        let options = options.filter { known.contains($0.name) }
        return help(synopsis: ["\(name) \(usage)"], purpose, options: options, example: "\(name) \(example)")
    }

    package static func help(synopsis: [String], _ summary: String, options: [Option], example: String?) -> String {
        let lead = "bellhop "
        var lines = synopsis.flatMap { usage in
            usage.replacing(" [", with: "\n[").split(separator: "\n")
                .lines(behind: lead, indent: lead.count + name.count + 1)
        }
        lines += [""] + summary.split(separator: " ").lines(behind: "")
        if let example { lines += ["", "For example:", "  \(lead)\(example)"] }
        if !options.isEmpty {
            lines += ["", "Options:"]
            lines += options.flatMap { option in
                let left = "  --\(option.name)" + (option.value.map { " \($0)" } ?? "")
                let lead = left + String(repeating: " ", count: max(2, 28 - left.count))
                return option.help.split(separator: " ").lines(behind: lead, indent: 28)
            }
        }
        lines += [
            "", "Every setting can be a flag too, BELLHOP_AMQP_URL as --amqp-url: bellhop check-config lists them.",
        ]
        return lines.joined(separator: "\n")
    }
}
