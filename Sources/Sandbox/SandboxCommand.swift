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
        let configuration = try call.configuration(reading: [])
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

/// Parses the options of `bellhop sandbox`.
extension SandboxCommand {
    static func order(_ words: Words) throws(CommandFailure) -> SandboxOptions {
        var options = SandboxOptions()
        options.listen = try address("listen", words) ?? ListenAddress(host: "127.0.0.1", port: 8_443)
        options.control = try address("control", words) ?? ListenAddress(host: "127.0.0.1", port: 8_444)
        options.apnsListen = try address("apns", words) ?? options.apnsListen
        options.apnsSandboxListen = try address("apns-sandbox", words) ?? options.apnsSandboxListen
        options.smtp = try address("smtp", words) ?? options.smtp
        options.smtps = try address("smtps", words) ?? options.smtps
        options.publicHost = try words.optional("host", "the name of a host", host)
        options.caFile = words.value("ca-out")
        options.serviceAccountFile = words.value("service-account-out")
        options.issuesTokensUnchecked = options.serviceAccountFile != nil
        options.apnsKeyFile = words.value("apns-key")
        let project = try words.optional("project", "small letters, digits and hyphens, 63 at most") {
            SandboxOptions.isProject($0) ? $0 : nil
        }
        options.project = project ?? options.project
        let topics = "bundle ids with commas between, such as com.example.app"
        options.apnsTopics = try words.optional("apns-topics", topics, Self.topics) ?? options.apnsTopics
        options.seed = try words.optional("seed", "a whole number that is not negative") { UInt64($0) } ?? options.seed
        try readSubscription(words, into: &options)
        let delay = try words.number("receipt-delay", in: 0...86_400)
        options.expoReceiptDelay = .seconds(delay ?? 0)
        options.checking = words.has("unchecked") ? .none : .strict
        options.notedWord = try words.optional("note", "a word") { $0.isEmpty ? nil : $0 }
        guard options.notedWord == nil || options.checking == .none else {
            throw words.misuse("--note needs --unchecked: what is checked is recorded anyway")
        }
        guard options.checking == .strict || (delay == nil && options.subscriptionFile == nil) else {
            throw words.misuse(
                "--unchecked is for FCM alone: it goes with neither --receipt-delay nor --subscription-out"
            )
        }
        return options
    }

    private static func address(_ option: String, _ words: Words) throws(CommandFailure) -> ListenAddress? {
        try words.optional(option, "HOST:PORT, such as 127.0.0.1:8443") { ListenAddress($0) }
    }

    private static func host(_ text: String) -> String? {
        guard let address = ListenAddress("\(text):0"), address.host == text, !text.contains(",") else { return nil }
        return text
    }

    private static func topics(_ text: String) -> Set<String>? {
        let topics = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return topics.allSatisfy(SandboxOptions.isTopic) ? Set(topics) : nil
    }

    private static func readSubscription(
        _ words: Words,
        into options: inout SandboxOptions
    ) throws(CommandFailure) {
        options.subscriptionFile = words.value("subscription-out")
        let rule = "what bellhop keys vapid prints as the public key"
        let key = try words.optional("vapid-public-key", rule) { SandboxOptions.isSubscriptionKey($0) ? $0 : nil }
        guard let key else { return }
        guard options.subscriptionFile != nil else {
            throw words.misuse("--vapid-public-key needs --subscription-out: it is the key of that browser")
        }
        options.subscriptionKey = key
    }
}
