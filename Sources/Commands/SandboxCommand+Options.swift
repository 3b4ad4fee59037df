import Sandbox
import ServiceRuntime

/// What the words of a command line make of a sandbox.
extension SandboxCommand {
    static func order(_ words: Words) throws(CommandFailure) -> SandboxOptions {
        var options = SandboxOptions()
        options.listen = try address("listen", words) ?? ListenAddress(host: "127.0.0.1", port: 8_443)
        options.control = try address("control", words) ?? ListenAddress(host: "127.0.0.1", port: 8_444)
        options.apnsListen = try address("apns", words) ?? options.apnsListen
        options.apnsSandboxListen = try address("apns-sandbox", words) ?? options.apnsSandboxListen
        options.smtp = try address("smtp", words) ?? options.smtp
        options.smtps = try address("smtps", words) ?? options.smtps
        options.publicHost = try host(words)
        options.caFile = words.value("ca-out")
        options.serviceAccountFile = words.value("service-account-out")
        options.apnsKeyFile = words.value("apns-key")
        options.project = try project(words) ?? options.project
        options.apnsTopics = try topics(words) ?? options.apnsTopics
        options.seed = try seed(words) ?? options.seed
        try readSubscription(words, into: &options)
        let delay = try words.number("receipt-delay", in: 0...86_400, of: name)
        options.expoReceiptDelay = .seconds(delay ?? 0)
        options.checking = words.has("unchecked") ? .none : .strict
        guard options.checking == .strict || (delay == nil && options.subscriptionFile == nil) else {
            throw .usage(
                of: name,
                "--unchecked is for FCM alone: it goes with neither --receipt-delay nor --subscription-out"
            )
        }
        return options
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

    private static func project(_ words: Words) throws(CommandFailure) -> String? {
        guard let text = words.value("project") else { return nil }
        guard SandboxOptions.isProject(text) else {
            throw .usage(of: name, "--project takes small letters, digits and hyphens, 63 at most")
        }
        return text
    }

    private static func topics(_ words: Words) throws(CommandFailure) -> Set<String>? {
        guard let text = words.value("apns-topics") else { return nil }
        let topics = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard topics.allSatisfy(SandboxOptions.isTopic) else {
            throw .usage(of: name, "--apns-topics takes bundle ids with commas between, such as com.example.app")
        }
        return Set(topics)
    }

    private static func readSubscription(
        _ words: Words,
        into options: inout SandboxOptions
    ) throws(CommandFailure) {
        options.subscriptionFile = words.value("subscription-out")
        guard let key = words.value("vapid-public-key") else { return }
        guard SandboxOptions.isSubscriptionKey(key) else {
            throw .usage(of: name, "--vapid-public-key takes what bellhop keys vapid prints as the public key")
        }
        guard options.subscriptionFile != nil else {
            throw .usage(of: name, "--vapid-public-key needs --subscription-out: it is the key of that browser")
        }
        options.subscriptionKey = key
    }

    private static func seed(_ words: Words) throws(CommandFailure) -> UInt64? {
        guard let text = words.value("seed") else { return nil }
        guard let seed = UInt64(text) else {
            throw .usage(of: name, "--seed takes a whole number that is not negative")
        }
        return seed
    }
}
