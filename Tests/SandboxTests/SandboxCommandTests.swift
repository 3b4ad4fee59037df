import CommandLineSupport
import Cryptography
import Push
import ServiceRuntime
import TestSupport
import Testing

@testable import CLI
@testable import Sandbox

@Suite("bellhop sandbox", .limitedConcurrency, .timeLimit(.ofTest))
struct SandboxCommandTests {
    private func run(_ words: String...) async -> (code: ExitCode, said: String) { await run(words) }

    private func run(_ words: [String]) async -> (code: ExitCode, said: String) {
        let answer = await Prompt().run(["sandbox"] + words)
        return (answer.code, answer.complaints)
    }

    @Test("a port in use ends the sandbox with advice")
    func refusesTakenPorts() async throws {
        let other = try await ProviderSandbox.start()
        let (code, said) = await run("--listen", "\(other.address)", "--control", "127.0.0.1:0")
        await other.stop(grace: .zero)
        #expect(code == .configuration)
        #expect(said.contains("listening on \(other.address)"))
        #expect(said.contains("choose another port"))
    }

    @Test(
        "an invalid option is a usage error that names it",
        arguments: [
            ("--listen", "8443"), ("--control", "localhost"), ("--project", "My Project"), ("--host", "a,DNS:b"),
            ("--seed", "-1"), ("--listn", "127.0.0.1:0"), ("--apns", "2197"), ("--apns-sandbox", "localhost"),
            ("--smtp", "25"), ("--smtps", "mail"), ("--apns-topics", "com.example.a,"), ("--apns-topics", "my app"),
            ("--vapid-public-key", "BAAA"), ("--receipt-delay", "-1"),
        ]
    )
    func refusesOptions(option: String, value: String) async {
        let (code, said) = await run(option, value)
        #expect(code == .usage)
        #expect(said.contains(option))
    }

    @Test("a browser's key without a file for its subscription is a usage error")
    func refusesLoneKey() async throws {
        let key = try VAPIDKey(id: "k", key: .generateP256()).publicKey
        let (code, said) = await run("--vapid-public-key", key)
        #expect(code == .usage)
        #expect(said.contains("--subscription-out"))
    }

    @Test(
        "the unchecked mode is only for FCM, and options for others are rejected",
        arguments: [["--receipt-delay", "0"], ["--subscription-out", "/nonexistent/browser.json"]]
    )
    func refusesOthersUnchecked(option: [String]) async {
        let (code, said) = await run(["--unchecked"] + option)
        #expect(code == .usage)
        #expect(said.contains("FCM alone"))
    }

    @Test("the options set the sandbox's APNs apps, browser key, addresses and receipt delay")
    func readsOptions() async throws {
        let key = try VAPIDKey(id: "k", key: .generateP256()).publicKey
        let options = try SandboxCommand.order(
            Words(
                [
                    "--apns-topics", "com.example.a,com.example.b", "--subscription-out", "browser.json",
                    "--vapid-public-key", key, "--apns", "127.0.0.1:2197", "--apns-sandbox", "127.0.0.2:2198",
                    "--receipt-delay", "3",
                ],
                options: SandboxCommand.options,
                of: SandboxCommand.name
            )
        )
        #expect(options.apnsTopics == ["com.example.a", "com.example.b"])
        #expect(options.subscriptionFile == "browser.json" && options.subscriptionKey == key)
        #expect(options.apnsListen == ListenAddress(host: "127.0.0.1", port: 2_197))
        #expect(options.apnsSandboxListen == ListenAddress(host: "127.0.0.2", port: 2_198))
        #expect(options.expoReceiptDelay == .seconds(3) && options.checking == .strict)
    }
}
