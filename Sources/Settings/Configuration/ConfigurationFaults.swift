package import ServiceRuntime

/// One fault of the configuration.
package struct ConfigurationFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The setting in its source's spelling: `BELLHOP_BATCH`, `--batch`, `batch`.
    package let key: String
    package let source: ConfigurationSource
    /// The value that was found; never a secret.
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

/// All faults of the configuration together, which end a command with `ExitCode.configuration`.
package struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    package let faults: [ConfigurationFault]
    /// The remaining configuration, with defaults in place of invalid values.
    ///
    /// It serves only to find further faults and must not be used to run a process.
    package let rest: BellhopConfiguration?

    package init(faults: [ConfigurationFault], rest: BellhopConfiguration? = nil) {
        self.faults = faults
        self.rest = rest
    }

    /// One line per fault.
    package var description: String { faults.map(\.description).joined(separator: "\n") }
}

/// The source of a value; an earlier case wins.
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

extension CommandFailure {
    /// Makes the failure for a setting that a command requires.
    package static func missing(_ setting: Setting) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: "reading the configuration",
            cameBack: "\(setting.environmentName) is not set",
            whatToDo: "set it, or give --\(setting.flagName)"
        )
    }
}
