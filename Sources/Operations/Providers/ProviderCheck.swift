import BellhopRules
import Push
import ServiceRuntime

/// A check of an app's credentials with one of its providers.
package struct ProviderCheck: Sendable {
    private let app: AppID
    private let provider: CheckedProvider
    private let test: ProviderTest
    private let hasToken: Bool

    /// Reads the input: `app`, `provider`, `token`, `environment` and `platform`.
    package init(_ fields: OperationFields) throws(OperationError) {
        guard let app = fields.text("app").flatMap(AppID.init(validating:)) else {
            throw .unfit("--app is missing or no app's name: say whose keys to try", field: "app")
        }
        guard let provider = fields.text("provider").flatMap(CheckedProvider.init(rawValue:)) else {
            let names = CheckedProvider.allCases.map(\.rawValue).joined(separator: ", ")
            throw .unfit("--provider is one of \(names)", field: "provider")
        }
        self.app = app
        self.provider = provider
        test = try ProviderTest(fields, app: app, provider: provider)
        hasToken = fields.text("token") != nil
    }

    /// Sends a test message with the credentials of the providers' file, and explains the verdict.
    package func answer(with file: String) async throws -> ProviderAnswer {
        let quiet = Logger(label: "check-provider", level: .error, sink: StandardErrorSink(form: .text))
        let senders = try PushSenders(try ProviderConfiguration.read(file: file), context: .init(logger: quiet))
        let verdict = await test.verdict(through: senders)
        await senders.close()
        guard let verdict else {
            throw OperationError(
                .misconfigured,
                attempted: "checking \(provider.rawValue) of \(app)",
                "\(file) has no section \(provider.rawValue) for \(app)",
                advice: "add it; docs/providers.md says how to get the keys"
            )
        }
        return ProviderAnswer(verdict, provider: provider, app: app, hasToken: hasToken)
    }
}
