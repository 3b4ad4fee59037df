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
        Option.taking("listen", "HOST:PORT", "where FCM, Expo and browsers are reached (127.0.0.1:8443)"),
        Option.taking("apns", "HOST:PORT", "where APNs is, for production (any free port, which the log tells)"),
        Option.taking("apns-sandbox", "HOST:PORT", "where APNs is, for development builds (the same)"),
        Option.taking("smtp", "HOST:PORT", "where mails are handed in, with STARTTLS (the same)"),
        Option.taking("smtps", "HOST:PORT", "where mails are handed in, with TLS from the start (the same)"),
        Option.taking("control", "HOST:PORT", "where it is controlled, in plain HTTP (127.0.0.1:8444)"),
        Option.taking("host", "NAME", "the name by which clients reach it (that of --listen)"),
        Option.taking("ca-out", "FILE", "where the certificate goes that clients must trust"),
        Option.taking("service-account-out", "FILE", "where the service account for FCM goes"),
        Option.taking("apns-key", "FILE", "where the key for APNs goes: key id SANDBOXKEY, team BELLHOPDEV"),
        Option.taking("subscription-out", "FILE", "where the subscription of a browser goes, which it makes"),
        Option.taking("project", "ID", "the project of the service account (bellhop-sandbox)"),
        Option.taking("apns-topics", "ID,ID", "the apps that the key for APNs is good for (com.example.bellhop)"),
        Option.taking("vapid-public-key", "KEY", "whose messages that browser takes (anybody's)"),
        Option.taking("receipt-delay", "SECONDS", "how long after its message a receipt of Expo's is there (0)"),
        Option.taking("seed", "N", "seed for faults with a rate (1)"),
        Option.switch(
            "unchecked",
            "answer 200 as FCM to everything at --listen, unread and unrecorded: for benchmarks of FCM alone"
        ),
        Option.taking("note", "WORD", "with --unchecked: remember when requests with this word came"),
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
