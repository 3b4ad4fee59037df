import BellhopRules
import CLI
import Foundation
import Operations
import Push
import ServiceRuntime

/// The command `bellhop check-provider --app A --provider P [--token T]`.
enum CheckProviderCommand: Command {
    static let name = "check-provider"
    static let summary = "Tests an app's credentials with a provider and explains the response."
    static let synopsis = [
        "check-provider --app APP --provider \(names.joined(separator: "|")) [--token TOKEN] [--environment production|sandbox] "
            + "[--platform ios|android|web] [--json]"
    ]
    private static let names = CheckedProvider.allCases.map(\.rawValue)
    static let options = [
        Option.taking("app", "APP", "whose keys to try"),
        Option.taking("provider", "NAME", CheckedProvider.list),
        Option.taking(
            "token",
            "TOKEN",
            "a device of yours that gets a test message (FCM only validates); webpush: a file with a subscription; "
                + "email: an address"
        ),
        Option.taking("environment", "NAME", "apns: production, unless sandbox is given"),
        Option.taking("platform", "NAME", "fcm, expo: what the token belongs to; android unless given"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        let words = call.words
        try words.expectNoOperands()
        guard let app = words.value("app").flatMap(AppID.init(validating:)) else {
            throw words.misuse("--app is missing or no app's name: say whose keys to try")
        }
        guard let provider = words.value("provider").flatMap(CheckedProvider.init(rawValue:)) else {
            throw words.misuse("--provider is one of \(names.joined(separator: ", "))")
        }
        let test = try ProviderTest(words, app: app, provider: provider)
        guard let file = try call.setup(requiring: [.providers]).configuration.providers else {
            return .configuration
        }
        let quiet = Logger(label: name, level: .error, sink: StandardErrorSink(form: .text))
        let senders = try PushSenders(try ProviderConfiguration.read(file: file), surroundings: .init(logger: quiet))
        let verdict = await test.verdict(through: senders)
        await senders.close()
        guard let verdict else {
            throw CommandFailure(
                .configuration,
                attempted: "checking \(provider.rawValue) of \(app)",
                cameBack: "\(file) has no section \(provider.rawValue) for \(app)",
                whatToDo: "add it; docs/providers.md says how to get the keys"
            )
        }
        let answer = ProviderAnswerText(verdict, provider: provider, app: app, hasToken: words.value("token") != nil)
        call.answer(answer.json, answer.text)
        return answer.exitCode
    }
}
