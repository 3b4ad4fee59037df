import ServiceRuntime

extension Call {
    /// Returns the command's setup, made from its flags and the environment.
    ///
    /// Faults end the command with exit code 78.
    func setup(requiring required: Set<Setting> = []) throws -> Setup {
        if let ground = shell.ground {
            return try Setup(configuration: ground.configuration, deskPool: ground.pool).having(required)
        }
        let (flags, environment) = (words.settings, shell.environment)
        return Setup(
            configuration: try BellhopConfiguration.read(flags: flags, environment: environment, required: required)
                .get(),
            environment: environment
        )
    }
}
