package import ServiceRuntime

/// An error that ends the program: an exit code, and the text for stderr.
package struct Failure: Sendable {
    package let exitCode: ExitCode
    package let text: String

    package init(exitCode: ExitCode, text: String) {
        self.exitCode = exitCode
        self.text = text
    }
}
