import ServiceRuntime

extension Call {
    /// What the command stands on, under these flags and this environment; faults end it with exit code 78.
    func setup(requiring required: Set<Setting> = []) throws -> Setup {
        if let setup = shell.setup { return try setup.having(required) }
        let (flags, environment) = (words.settings, shell.environment)
        return Setup(
            configuration: try BellhopConfiguration.read(flags: flags, environment: environment, required: required)
                .get()
        )
    }
}
