package import ServiceRuntime

/// A running sandbox as a service of the process; it stops with the group.
package struct SandboxService: Service {
    package let name = "sandbox"
    private let sandbox: ProviderSandbox
    private let logger: Logger

    package init(_ sandbox: ProviderSandbox, logger: Logger) {
        self.sandbox = sandbox
        self.logger = logger
    }

    package func run(until drain: DrainSignal) async throws {
        for (service, address) in sandbox.services {
            logger.notice("listening", ["service": .text(service), "address": .text(address)])
        }
        await drain.wait()
        await sandbox.stop()
    }
}

extension ProviderSandbox {
    /// The services and their addresses, for the log.
    fileprivate var services: [(name: String, address: String)] {
        let shared = [("expo", expoEndpoint), ("webpush", webPushEndpoint)]
        return [("fcm", fcmEndpoint), ("oauth", tokenURI)] + (checking == .strict ? shared : []) + [
            ("apns", apnsEndpoint), ("apns-sandbox", apnsSandboxEndpoint),
            ("email", "smtp://\(smtpAddress)"), ("email", "smtps://\(smtpsAddress)"),
            ("control", "http://\(controlAddress)"),
        ]
    }
}
