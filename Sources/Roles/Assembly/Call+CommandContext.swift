package import CLI
import ServiceRuntime
package import Settings

extension Call {
    /// Returns the command's setup, made from its flags and the environment.
    ///
    /// Faults end the command with exit code 78.
    package func setup(requiring required: Set<Setting> = []) throws -> CommandContext {
        CommandContext(configuration: try configuration(requiring: required), environment: shell.environment)
    }
}
