import CommandLineSupport
import TestSupport
import Testing

/// Commands with their exit codes and outputs, as a text that is equal in every run.
struct Transcript {
    private let prompt: Prompt
    private let masks: [String: String]
    private var entries: [String] = []

    /// Creates an empty transcript; each value of `masks` is replaced by its name.
    init(_ prompt: Prompt, masking masks: [String: String] = [:]) {
        self.prompt = prompt
        self.masks = masks
    }

    /// Runs a command and adds its answer; `input` is its stdin.
    mutating func run(_ words: String..., input: String = "") async {
        var prompt = prompt
        prompt.input = input
        let answer = await prompt.run(words)
        var parts = ["$ bellhop \(words.joined(separator: " "))", "exit \(answer.code.rawValue)"]
        if !answer.output.isEmpty { parts.append(answer.output) }
        if !answer.complaints.isEmpty { parts.append("stderr: \(answer.complaints)") }
        entries.append(Golden.masked(parts.joined(separator: "\n"), masks))
    }

    func check(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try Golden("commands/\(name).txt").check(
            entries.joined(separator: "\n\n"),
            sourceLocation: sourceLocation
        )
    }
}
