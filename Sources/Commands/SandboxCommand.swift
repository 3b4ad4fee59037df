import Sandbox
import ServiceRuntime

/// `bellhop sandbox`: runs the stand-ins until a signal ends them.
struct SandboxCommand: Command {
    static let name = "sandbox"
    static let summary = "Stands in for the push providers: TLS, HTTP/2, strict, with faults on request."
    static let synopsis = [
        "sandbox [--listen HOST:PORT] [--control HOST:PORT] [--ca-out FILE] [--service-account-out FILE]",
        "        [--smtp HOST:PORT] [--smtps HOST:PORT] [--project ID] [--host NAME] [--seed N]",
        "        [--receipt-delay SECONDS] [--unchecked]",
    ]
    static let options = [
        Option.taking("listen", "HOST:PORT", "where the providers are reached (127.0.0.1:8443)"),
        Option.taking("control", "HOST:PORT", "where it is controlled, in plain HTTP (127.0.0.1:8444)"),
        Option.taking(
            "smtp",
            "HOST:PORT",
            "where mails are handed in, with STARTTLS (any free port, which the log tells)"
        ),
        Option.taking("smtps", "HOST:PORT", "where mails are handed in, with TLS from the start (the same)"),
        Option.taking("ca-out", "FILE", "where the certificate goes that clients must trust"),
        Option.taking("service-account-out", "FILE", "where the service account for FCM goes"),
        Option.taking("project", "ID", "the project of that account (bellhop-sandbox)"),
        Option.taking("host", "NAME", "the name by which clients reach it (that of --listen)"),
        Option.taking("seed", "N", "decides whom faults with a rate befall (1)"),
        Option.taking("receipt-delay", "SECONDS", "how long after its message a receipt of Expo's is there (0)"),
        Option.switch("unchecked", "answer 200 to everything, unread and unrecorded, for benchmarks"),
    ]

    private let words: Words
    private let options: SandboxOptions

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        self.words = words
        var options = SandboxOptions()
        options.listen = try Self.address("listen", words) ?? ListenAddress(host: "127.0.0.1", port: 8_443)
        options.control = try Self.address("control", words) ?? ListenAddress(host: "127.0.0.1", port: 8_444)
        options.smtp = try Self.address("smtp", words) ?? options.smtp
        options.smtps = try Self.address("smtps", words) ?? options.smtps
        options.caFile = words.value("ca-out")
        options.serviceAccountFile = words.value("service-account-out")
        options.project = words.value("project") ?? options.project
        guard SandboxOptions.isProject(options.project) else {
            throw .usage(of: Self.name, "--project takes small letters, digits and hyphens, 63 at most")
        }
        options.publicHost = try Self.host(words)
        options.seed = try Self.seed(words) ?? options.seed
        let delay = try words.number("receipt-delay", in: 0...86_400, of: Self.name)
        options.expoReceiptDelay = .seconds(delay ?? 0)
        options.checking = words.has("unchecked") ? .none : .strict
        self.options = options
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words)
        let logger = configuration.log.makeLogger(label: Self.name)
        let sandbox = try await start()
        let group = ServiceGroup(
            [SandboxService(sandbox, logger: logger)],
            drainTimeout: configuration.drainTimeout,
            logger: logger
        )
        let ending = await group.run()
        logger.notice("stopped", ["because": .text("\(ending)")])
        return ending.exitCode
    }

    private func start() async throws -> ProviderSandbox {
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

    private static func address(_ option: String, _ words: Words) throws(CommandFailure) -> ListenAddress? {
        guard let text = words.value(option) else { return nil }
        guard let address = ListenAddress(text) else {
            throw .usage(of: name, "--\(option) takes HOST:PORT, such as 127.0.0.1:8443")
        }
        return address
    }

    private static func host(_ words: Words) throws(CommandFailure) -> String? {
        guard let text = words.value("host") else { return nil }
        guard let address = ListenAddress("\(text):0"), address.host == text, !text.contains(",") else {
            throw .usage(of: name, "--host takes the name of a host")
        }
        return text
    }

    private static func seed(_ words: Words) throws(CommandFailure) -> UInt64? {
        guard let text = words.value("seed") else { return nil }
        guard let seed = UInt64(text) else {
            throw .usage(of: name, "--seed takes a whole number that is not negative")
        }
        return seed
    }
}
