package import CLI
import ServiceRuntime
package import Settings

extension Call {
    /// Returns the command's setup, made from its flags and the environment.
    ///
    /// Faults end the command with exit code 78.
    package func setup(requiring required: Set<Setting> = []) throws -> Setup {
        if let lent = shell.lent as? LentConnections {
            return try Setup(configuration: lent.configuration, deskPool: lent.pool).having(required)
        }
        return Setup(configuration: try configuration(requiring: required), environment: shell.environment)
    }
}
