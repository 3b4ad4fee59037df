package import CLI
import ServiceRuntime
package import Settings

extension Call {
    /// Returns the command's setup, made from its flags and the environment.
    ///
    /// Faults end the command with exit code 78.
    package func setup(
        requiring required: Set<Setting> = [],
        reading files: Set<Setting> = Setting.usualFiles
    ) throws -> CommandContext {
        CommandContext(
            configuration: try configuration(requiring: required, reading: files),
            environment: shell.environment
        )
    }

    /// Makes the base of a command that serves the inbox API, which needs a key set or a file of issuers as well.
    package func setupWithSignIn(requiring required: Set<Setting>) throws -> CommandContext {
        // Faults of settings are reported by the second reading, together with the missing ones.
        let files = Setting.usualFiles.union(Setting.filesOfAPI)
        let hasSignIn = (try? configuration(reading: files))?.hasSignIn ?? true
        return try setup(requiring: hasSignIn ? required : required.union([.jwtKeys]), reading: files)
    }
}
