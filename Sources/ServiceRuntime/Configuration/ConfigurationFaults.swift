/// One thing that is wrong with the configuration.
package struct ConfigurationFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The setting as its source spells it: `BELLHOP_BATCH`, `--batch`, `batch`.
    package let key: String
    package let source: ConfigurationSource
    /// What is there; never a secret.
    package let found: String
    package let expected: String
    package let whatToDo: String

    package init(
        key: String,
        source: ConfigurationSource,
        found: String,
        expected: String,
        whatToDo: String
    ) {
        (self.key, self.source, self.found) = (key, source, found)
        (self.expected, self.whatToDo) = (expected, whatToDo)
    }

    package var description: String {
        "\(key) (\(source)): \(found), expected \(expected); \(whatToDo)".escapingControls()
    }
}

/// Everything that is wrong with the configuration, at once; ends a command with `ExitCode.configuration`.
package struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    package let faults: [ConfigurationFault]
    /// What there is beside them, with the default in the place of what is wrong: not to be run with, but to look for what
    /// else is wrong.
    package let rest: BellhopConfiguration?

    package init(faults: [ConfigurationFault], rest: BellhopConfiguration? = nil) {
        self.faults = faults
        self.rest = rest
    }

    /// One line a fault.
    package var description: String {
        faults.map(\.description).joined(separator: "\n")
    }
}

/// Where a value came from; the earlier one wins.
package enum ConfigurationSource: Sendable, Equatable, CustomStringConvertible {
    case flag
    case environment
    case file(path: String)
    case byDefault

    package var description: String {
        switch self {
        case .flag: "flag"
        case .environment: "environment"
        case .file(let path): path
        case .byDefault: "default"
        }
    }
}
