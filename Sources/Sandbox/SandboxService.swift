package import ServiceRuntime

/// A sandbox that runs already, as a service of the process: it stops with the group.
package struct SandboxService: Service {
    package let name = "sandbox"
    private let sandbox: ProviderSandbox
    private let logger: Logger

    package init(_ sandbox: ProviderSandbox, logger: Logger) {
        self.sandbox = sandbox
        self.logger = logger
    }

    package func run(until drain: DrainSignal) async throws {
        logger.notice("listening", ["service": "providers", "address": .text(sandbox.fcmEndpoint)])
        logger.notice("listening", ["service": "apns", "address": .text(sandbox.apnsEndpoint)])
        logger.notice("listening", ["service": "apns-sandbox", "address": .text(sandbox.apnsSandboxEndpoint)])
        logger.notice("listening", ["service": "mail", "address": .text("smtp://\(sandbox.smtpAddress)")])
        logger.notice("listening", ["service": "mail", "address": .text("smtps://\(sandbox.smtpsAddress)")])
        logger.notice("listening", ["service": "control", "address": .text("http://\(sandbox.controlAddress)")])
        await drain.wait()
        await sandbox.stop()
    }
}
