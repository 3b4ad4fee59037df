import CLI
import ServiceRuntime

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
