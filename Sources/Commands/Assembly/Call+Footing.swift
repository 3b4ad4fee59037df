import ServiceRuntime

extension Call {
    /// What the command stands on, under these flags and this environment; faults end it with exit code 78.
    func footing(requiring required: Set<Setting> = []) throws -> Footing {
        let (flags, environment) = (words.settings, shell.environment)
        return Footing(
            configuration: try BellhopConfiguration.read(flags: flags, environment: environment, required: required)
                .get()
        )
    }
}
