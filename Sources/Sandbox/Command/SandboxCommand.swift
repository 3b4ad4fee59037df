package import CLI
package import ServiceRuntime

/// The command `bellhop sandbox`, which runs emulators of the providers until a signal.
package enum SandboxCommand: Command {
    package static let name = "sandbox"
    package static let summary = "Emulates the push providers over TLS and HTTP/2, with injectable faults."
    package static let isRole = true
    package static let synopsis = [
        """
        sandbox [--listen HOST:PORT] [--apns HOST:PORT] [--apns-sandbox HOST:PORT] [--smtp HOST:PORT] \
        [--smtps HOST:PORT] [--control HOST:PORT] [--host NAME] [--ca-out FILE] [--service-account-out FILE] \
        [--apns-key FILE] [--subscription-out FILE] [--project ID] [--apns-topics ID,ID] [--vapid-public-key KEY] \
        [--receipt-delay SECONDS] [--seed N] [--unchecked]
        """
    ]
    package static let options = [
        Option.taking("listen", "HOST:PORT", "address of FCM, Expo and Web Push (127.0.0.1:8443)"),
        Option.taking("apns", "HOST:PORT", "address of APNs for production (any free port; see the log)"),
        Option.taking("apns-sandbox", "HOST:PORT", "address of APNs for development builds (any free port)"),
        Option.taking("smtp", "HOST:PORT", "address of the mail server with STARTTLS (any free port)"),
        Option.taking("smtps", "HOST:PORT", "address of the mail server with implicit TLS (any free port)"),
        Option.taking("control", "HOST:PORT", "address of the control API, in plain HTTP (127.0.0.1:8444)"),
        Option.taking("host", "NAME", "host name that clients use (that of --listen)"),
        Option.taking("ca-out", "FILE", "write the certificate that clients must trust to FILE"),
        Option.taking("service-account-out", "FILE", "write the service account for FCM to FILE"),
        Option.taking("apns-key", "FILE", "write the APNs key to FILE: key id SANDBOXKEY, team BELLHOPDEV"),
        Option.taking("subscription-out", "FILE", "create a browser's subscription and write it to FILE"),
        Option.taking("project", "ID", "the project of the service account (bellhop-sandbox)"),
        Option.taking("apns-topics", "ID,ID", "apps for which the APNs key is valid (com.example.bellhop)"),
        Option.taking("vapid-public-key", "KEY", "key of the sender that this browser accepts (any)"),
        Option.taking("receipt-delay", "SECONDS", "delay of Expo's receipts after the message (0)"),
        Option.taking("seed", "N", "seed for faults with a rate (1)"),
        Option.switch(
            "unchecked",
            "answer every request at --listen with 200 as FCM, without reading or recording it: for benchmarks"
        ),
        Option.taking("note", "WORD", "with --unchecked: record the times of requests that contain WORD"),
    ]

    package static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let options = try order(call.words)
        let configuration = try call.configuration()
        let logger = configuration.log.makeLogger(label: name)
        let sandbox = try await start(options)
        let group = ServiceGroup(
            [SandboxService(sandbox, logger: logger)],
            drainTimeout: configuration.drainTimeout,
            logger: logger
        )
        let ending = await group.run()
        logger.notice("stopped", ["because": .text("\(ending)")])
        return ending.exitCode
    }

    private static func start(_ options: SandboxOptions) async throws -> ProviderSandbox {
        do {
            return try await ProviderSandbox.start(options)
        } catch let error as SandboxError {
            throw CommandFailure(
                .configuration,
                attempted: error.attempted,
                cameBack: error.cameBack,
                whatToDo: error.advice
            )
        }
    }
}
