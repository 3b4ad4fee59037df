package import ServiceRuntime

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
