import CLI
import Operations
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
        try call.words.expectNoOperands()
        do {
            let check = try ProviderCheck(call.fields)
            guard let file = try call.setup(requiring: [.providers]).configuration.providers else {
                return .configuration
            }
            let answer = try await check.answer(with: file)
            call.answer(answer.json, answer.text)
            return answer.exitCode
        } catch let error as OperationError {
            throw CommandFailure(error, call.words)
        }
    }
}
