import BellhopRules
import Foundation
import Push
import ServiceRuntime

/// The command `bellhop check-provider --app A --provider P [--token T]`.
struct CheckProviderCommand: Command {
    static let name = "check-provider"
    static let summary = "Asks a provider whether it takes an app's messages, and explains the answer."
    static let synopsis = [
        "check-provider --app APP --provider apns|fcm|expo|webpush|email [--token TOKEN] "
            + "[--environment production|sandbox] [--platform ios|android|web] [--json]"
    ]
    static let options = [
        Option.taking("app", "APP", "whose keys to try"),
        Option.taking("provider", "NAME", "apns, fcm, expo, webpush or email"),
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

    private let words: Words
    private let app: AppID
    private let provider: CheckedProvider
    private let test: ProviderTest

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        self.words = words
        guard let app = words.value("app").flatMap(AppID.init(validating:)) else {
            throw .usage(of: Self.name, "--app is missing or no app's name: say whose keys to try")
        }
        guard let provider = words.value("provider").flatMap(CheckedProvider.init(rawValue:)) else {
            let names = CheckedProvider.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage(of: Self.name, "--provider is one of \(names)")
        }
        self.app = app
        self.provider = provider
        test = try ProviderTest(words, app: app, provider: provider)
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.providers])
        guard let file = configuration.providers else { return .configuration }
        let read = try ProviderConfiguration.read(file: file)
        let quiet = Logger(label: Self.name, level: .error, sink: StandardErrorSink(form: .text))
        let senders = try PushSenders(read, surroundings: .init(logger: quiet))
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
        surroundings.print(words.has("json") ? answer.json.description : answer.text)
        return answer.exitCode
    }
}

/// The providers that can be asked.
enum CheckedProvider: String, CaseIterable, Sendable {
    case apns
    case fcm
    case expo
    case webpush
    case email

    /// The provider of pushes; nil for mail.
    var push: PushProvider? { PushProvider(rawValue: rawValue) }

    /// A token of the right form that belongs to nobody; nil where there is none that would say anything.
    var madeUpToken: String? {
        switch self {
        case .apns: String(repeating: "b2", count: 32)
        case .fcm: "bellhop-check:made-up"
        case .expo: "ExponentPushToken[bellhop-check-made-up]"
        case .webpush, .email: nil
        }
    }
}
