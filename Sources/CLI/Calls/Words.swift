import BellhopJSON
package import ServiceRuntime
import Settings

/// The words after a command's name, sorted into operands, options and settings.
package struct Words: Sendable {
    /// The command for which `--help` gives more information.
    package var command: String
    package private(set) var operands: [String] = []
    package private(set) var values: [String: [String]] = [:]
    package private(set) var switches: Set<String> = []
    /// Settings given as flags, by name without dashes.
    ///
    /// They take precedence over the environment.
    package private(set) var settings: [String: String] = [:]

    /// Parses `--name value`, `--name=value`, `--switch` and operands.
    ///
    /// After `--` every word is an operand.
    package init(_ words: [String], options: [Option], of command: String) throws(CommandFailure) {
        self.command = command
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word != "--" else {
                operands += rest
                return
            }
            guard word.hasPrefix("--") else {
                operands.append(word)
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            let attached = parts.count > 1 ? String(parts[1]) : nil
            if let option = options.first(where: { $0.name == name }), option.value == nil {
                guard attached == nil else {
                    throw misuse("--\(name) takes no value")
                }
                switches.insert(name)
                continue
            }
            let isSetting = Setting.spellings.contains { $0.flagName == name }
            guard isSetting || options.contains(where: { $0.name == name }) else {
                throw unknown(name, options)
            }
            guard let value = attached ?? rest.popFirst() else {
                throw misuse("--\(name) needs a value")
            }
            // An empty variable of a script must not become a filter that matches everything. A setting may be empty.
            guard isSetting || !value.isEmpty else { throw misuse("--\(name) needs a value, and has an empty one") }
            let isRepeatable = isSetting || options.contains { $0.name == name && $0.isRepeatable }
            guard isRepeatable || values[name] == nil else { throw misuse("--\(name) is given more than once") }
            if isSetting { settings[name] = value } else { values[name, default: []].append(value) }
        }
    }

    /// The names of all given options, without settings.
    package var given: Set<String> { switches.union(values.keys) }

    /// Returns the value of an option.
    package func value(_ name: String) -> String? { values[name]?.last }

    /// Returns all values of a repeatable option, in their order.
    package func allValues(_ name: String) -> [String] { values[name] ?? [] }

    package func has(_ name: String) -> Bool { switches.contains(name) }

    private func unknown(_ name: String, _ options: [Option]) -> CommandFailure {
        let known = options.map(\.name) + Setting.spellings.map(\.flagName)
        let hint = NearestName.find(name, among: known).map { ", did you mean --\($0)?" } ?? ""
        return misuse("there is no option --\(name)\(hint)")
    }

    /// Makes the usage error with its cause.
    package func misuse(_ why: String) -> CommandFailure { .usage(of: command, why) }

    package func expectNoOperands() throws(CommandFailure) {
        guard let first = operands.first else { return }
        throw misuse("it takes no operand, found \(first)")
    }

    /// Returns the one file operand, or `-` for stdin.
    package func file() throws(CommandFailure) -> String {
        guard operands.count == 1 else { throw misuse("expected one file, or - for stdin") }
        return operands[0]
    }
}

extension CommandFailure {
    /// Makes the failure for an invalid command line.
    package static func usage(of command: String, _ why: String) -> CommandFailure {
        CommandFailure(
            .usage,
            attempted: "reading the command line of bellhop \(command)",
            cameBack: why,
            whatToDo: "see bellhop \(command) --help"
        )
    }
}
