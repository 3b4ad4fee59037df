import API
import BellhopRules
import CLI
import Console
import Operations
import Postgres
import Push
import Roles
import ServiceRuntime
import Settings
import Tracing

/// The command `bellhop check-config`.
enum CheckConfigCommand: Command {
    static let name = "check-config"
    static let summary = "Shows the effective configuration with secrets masked, or lists all faults."
    static let synopsis = ["check-config [--json]", "check-config --client APP [--json]"]
    static let options = [
        Option.taking("client", "APP", "shows instead what the app's phone clients must prepare, by its catalogue"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        if let app = try call.words.optional("client", AppID.rule, AppID.init(validating:)) {
            return try showClient(of: app, call)
        }
        let (setup, faults) = try look(call)
        let configuration = setup.configuration
        let files = try Files(setup, beside: faults)
        let secrets = secretFiles(call) + (files.providers?.secretFiles ?? [])
        let warnings =
            try warnings(configuration) + leaseWarnings(configuration) + warnings(secretFiles: secrets) + files.warnings
        let words = [
            configuration.describe(), "", "catalogues: \(files.catalogsInWords)",
            "follows:    \(files.followsInWords)",
            "providers:  \(files.providersInWords)", "token keys: \(files.tokenKeysInWords)",
            "sign-in:    \(files.signInInWords)",
            "traces:     \(files.tracesInWords)",
            "operators:  \(files.operatorsInWords)", "publishers: \(files.publishersInWords)",
        ]
        call.answer(
            json(configuration, files, warnings),
            (words + warnings.map { "warning:    \($0)" }).joined(separator: "\n")
        )
        return .done
    }

    /// Shows the requirements of one app's clients.
    private static func showClient(of app: AppID, _ call: Call) throws -> ExitCode {
        let catalogs = try call.configuration(requiring: [.catalogs]).readCatalogs()
        guard let catalog = catalogs[app] else {
            let hint = NearestName.hint(app.text, among: catalogs.catalogs.map(\.app.text))
            throw call.words.misuse("no catalogue describes \(app)\(hint)")
        }
        let requirements = ClientRequirements(of: catalog)
        call.answer(requirements.json, lines: requirements.lines(fitting: call.shell.output.width))
        return .done
    }

    /// Returns the configuration and its faults.
    ///
    /// With faults, the configuration contains the valid settings, so that their files are checked as well.
    private static func look(_ call: Call) throws -> (CommandContext, ConfigurationFaults?) {
        let environment = call.shell.environment
        switch BellhopConfiguration.read(flags: call.words.settings, environment: environment) {
        case .success(let configuration):
            return (CommandContext(configuration: configuration, environment: environment), nil)
        case .failure(let faults):
            guard let rest = faults.rest else { throw faults }
            return (CommandContext(configuration: rest, environment: environment), faults)
        }
    }

    /// Returns warnings about settings that work but are less safe than an operator may expect.
    private static func warnings(_ configuration: BellhopConfiguration) throws -> [String] {
        let urls = [(Setting.databaseURL, configuration.databaseURL), (.relayURL, configuration.relayURL)]
        return try urls.compactMap { setting, secret in
            guard let url = try secret.map({ try DatabaseURL($0.revealed) }), url.mayBeOverheard else { return nil }
            let mode = url["sslmode"] ?? "prefer"
            return "\(setting.environmentName) goes to another machine with sslmode=\(mode), which proves nothing of "
                + "it: write verify-full"
        }
    }

    /// Warns of a lease that is too short for slow requests.
    ///
    /// A request begins in the first half of its lease and may take 30 seconds. Another worker may repeat a send whose
    /// answer arrives after the lease.
    private static func leaseWarnings(_ configuration: BellhopConfiguration) -> [String] {
        guard configuration.providers != nil, configuration.lease < .seconds(60) else { return [] }
        let name = Setting.lease.environmentName
        return ["\(name) is shorter than 60s, twice the longest request: another worker may repeat a slow one"]
    }

    private static func warnings(secretFiles: [String]) -> [String] {
        secretFiles.filter(SecretFile.isOpenToAll).sorted().map {
            "\($0) holds a secret, and every user of this machine may read it: chmod o= it"
        }
    }

    /// Returns the files from which secrets of the settings are read.
    private static func secretFiles(_ call: Call) -> [String] {
        Setting.all.compactMap(\.inFile).compactMap {
            call.words.settings[$0.flagName] ?? call.shell.environment[$0.environmentName]
        }
    }

    private static func json(
        _ configuration: BellhopConfiguration,
        _ files: Files,
        _ warnings: [String]
    ) -> JSONValue {
        let settings = configuration.effective.map { effective in
            JSONValue.members([
                ("setting", .string(effective.setting.environmentName)), ("value", .optional(effective.shown)),
                ("source", .string("\(effective.source)")),
            ])
        }
        return .members([
            ("settings", .array(settings)),
            ("apps", .array((files.catalogs?.catalogs ?? []).map { .string($0.app.text) })),
            ("anyTopicApps", .array(files.anyTopicApps.map { .string($0) })),
            ("pushedApps", .array(files.pushedApps.map { .string($0.text) })),
            ("tokenKeys", files.tokenKeys.map { .int($0.count) } ?? .null),
            ("signIn", .array(files.signIn.map(\.json))),
            ("traces", .optional(files.traces)),
            ("operators", files.operators.map { .int($0.operators.count) } ?? .null),
            ("publishers", files.publishers.map { .int($0.accounts.count) } ?? .null),
            ("warnings", .array(warnings.map { .string($0) })),
        ])
    }
}

extension ConfiguredIssuer {
    /// The issuer for programs.
    fileprivate var json: JSONValue {
        let url: String? = if case .remote(let source) = keys { source.url } else { nil }
        return .members([
            ("issuer", .optional(rules.issuer)), ("audience", .array(rules.audiences.map { .string($0) })),
            ("app", .optional(rules.app?.text)), ("user", .string(rules.user.text)),
            ("appClaim", .string(rules.appClaim.text)), ("leeway", .string(rules.leeway.shortText)),
            ("keysFrom", .optional(url)),
        ])
    }
}

/// The files that the configuration names, read as a worker reads them.
///
/// Their faults count as configuration faults, since a worker does not start with them.
private struct Files {
    /// `nil` if no catalogues are configured.
    let catalogs: CatalogSet?
    let providers: ProviderConfiguration?
    let tokenKeys: TokenKeySet?
    /// The issuers of the file of issuers.
    let signIn: [ConfiguredIssuer]
    /// The destination of spans.
    let traces: String?
    let operators: OperatorFile?
    let publishers: PublisherFile?

    /// Reads all files.
    ///
    /// Throws all faults together, beginning with those of the settings.
    init(_ setup: CommandContext, beside faults: ConfigurationFaults?) throws {
        var failures: [any Error] = faults.map { [$0] } ?? []
        func attempt<Value>(_ read: () throws -> Value?) -> Value? {
            do { return try read() } catch { failures.append(error) }
            return nil
        }
        catalogs = attempt { try setup.configuration.catalogs.map { _ in try setup.catalogs() } }
        providers = attempt { try setup.configuration.providers.map { try ProviderConfiguration.read(file: $0) } }
        tokenKeys = attempt { try setup.configuration.jwtKeys.map { try TokenKeySet.read(file: $0).get() } }
        signIn = attempt { try setup.configuration.signIn.map { try SignInConfiguration.issuers(of: $0).get() } } ?? []
        traces = attempt { try TracingSettings.read(setup.environment)?.place }
        operators = attempt { try setup.configuration.operators.map { try OperatorFile.read(file: $0).get() } }
        publishers = attempt { try setup.configuration.publishers.map { try PublisherFile.read(file: $0).get() } }
        guard failures.isEmpty else { throw FileFaults(failures: failures) }
    }

    var pushedApps: [AppID] {
        (providers?.apps.filter { !Self.names(of: $0.value).isEmpty }.keys.map { $0 } ?? []).sorted {
            $0.text < $1.text
        }
    }

    /// Returns the names of the providers that an app uses.
    private static func names(of providers: ProviderConfiguration.Providers) -> [String] {
        CheckedProvider.allCases.filter { provider in
            switch provider {
            case .apns: providers.apns != nil
            case .fcm: providers.fcm != nil
            case .expo: providers.expo != nil
            case .webpush: providers.webPush != nil
            case .email: providers.email != nil
            }
        }.map(\.rawValue)
    }

    var catalogsInWords: String {
        guard let catalogs else {
            return "none configured (\(Setting.catalogs.environmentName)); no worker starts without"
        }
        return catalogs.catalogs.map { "\($0.app) (\($0.types.count) \($0.types.count == 1 ? "type" : "types"))" }
            .joined(separator: ", ")
    }

    /// Warnings of files that are valid and do not have the effect that an operator may expect.
    var warnings: [String] { keyWarnings + issuerWarnings + publisherWarnings + webPushWarnings }

    /// Warnings of several VAPID keys of which the file names no default.
    ///
    /// The first key is then the default. If it is the newer one, subscriptions that name no key fail and are revoked.
    private var webPushWarnings: [String] {
        let apps = (providers?.apps ?? [:]).sorted { $0.key.text < $1.key.text }
        return apps.compactMap { app, providers in
            guard let keys = providers.webPush?.keys, keys.all.count > 1, !keys.isUsualNamed else { return nil }
            return "\(Setting.providers.environmentName): \(app) has \(keys.all.count) VAPID keys and no defaultKey, "
                + "so the first (\(keys.usual.id)) is used for subscriptions that name none: name the oldest in "
                + "defaultKey"
        }
    }

    /// Warnings of publishers whose app or types no catalogue has: all of their calls are rejected.
    private var publisherWarnings: [String] {
        guard let catalogs else { return [] }
        let name = Setting.publishers.environmentName
        return (publishers?.accounts ?? []).flatMap { account -> [String] in
            guard let catalog = catalogs[account.app] else {
                return ["\(name): no catalogue describes the app \(account.app) of \(account.name)"]
            }
            let known = account.types ?? []
            let unknown = known.filter { catalog[$0] == nil && !EventType.isReserved($0.text) }
            return unknown.map { "\(name): \(account.app) has no type \($0), which \(account.name) may publish" }
        }
    }

    /// Warnings of keys that name no apps, if there are several apps.
    ///
    /// The owner of such a key can sign in as any user of every app.
    private var keyWarnings: [String] {
        guard let unbound = tokenKeys?.unbound, !unbound.isEmpty, (catalogs?.catalogs.count ?? 0) > 1 else { return [] }
        let keys = unbound.prefix(5).joined(separator: ", ") + (unbound.count > 5 ? ", …" : "")
        let name = Setting.jwtKeys.environmentName
        return ["\(name) has keys that may sign for the users of every app (\(keys)): add \"apps\" to each of them"]
    }

    /// Warnings of issuers that may sign in users of every app, or users of an app without a catalogue.
    private var issuerWarnings: [String] {
        let apps = (catalogs?.catalogs ?? []).map(\.app)
        let name = Setting.signIn.environmentName
        return signIn.compactMap { issuer in
            let issuerName = issuer.rules.issuer ?? ""
            if let app = issuer.rules.app {
                guard catalogs != nil, !apps.contains(app) else { return nil }
                return "\(name) names \(app) for \(issuerName), which no catalogue describes: its users get 403"
            }
            guard apps.count > 1 else { return nil }
            return "\(name): \(issuerName) may sign in the users of every app: add \"app\" to it"
        }
    }

    var signInInWords: String {
        signIn.isEmpty
            ? "no file of issuers (\(Setting.signIn.environmentName))"
            : signIn.map(\.summary).joined(separator: "\n            ")
    }

    /// The apps whose users may follow every topic.
    var anyTopicApps: [String] {
        (catalogs?.catalogs ?? []).filter(\.topics.anyMayBeFollowed).map(\.app.text)
    }

    var followsInWords: String {
        let apps = anyTopicApps.joined(separator: ", ")
        return apps.isEmpty
            ? "users follow only what catalogues name (topics.followable)"
            : "users may follow any topic of \(apps); name the kinds in topics.followable"
    }

    var tracesInWords: String { traces.map { "to \($0)" } ?? "none (OTEL_EXPORTER_OTLP_ENDPOINT)" }

    var tokenKeysInWords: String {
        guard let tokenKeys else {
            let name = Setting.jwtKeys.environmentName
            return "none configured (\(name))" + (signIn.isEmpty ? "; no inbox API starts without" : "")
        }
        return "\(tokenKeys.count) \(tokenKeys.count == 1 ? "key" : "keys")"
    }

    var operatorsInWords: String {
        guard let operators else {
            return "none configured (\(Setting.operators.environmentName)); no console starts without"
        }
        return operators.operators.map { "\($0.name) (\($0.role.rawValue))" }.joined(separator: ", ")
    }

    var publishersInWords: String {
        guard let publishers else {
            return "none configured (\(Setting.publishers.environmentName)); no publishing by HTTP"
        }
        let names = publishers.accounts.map { "\($0.name) (\($0.app))" }.joined(separator: ", ")
        return names.isEmpty ? "the file names none" : names
    }

    var providersInWords: String {
        guard providers != nil else {
            return "none configured (\(Setting.providers.environmentName)); notifications are recorded and not pushed"
        }
        let pushed = pushedApps.compactMap { app in
            providers?.apps[app].map { "\(app) (\(Self.names(of: $0).joined(separator: ", ")))" }
        }
        return pushed.isEmpty ? "the file names none" : pushed.joined(separator: ", ")
    }
}
