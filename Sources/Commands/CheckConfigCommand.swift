import ServiceRuntime

/// The command `bellhop check-config`.
struct CheckConfigCommand: Command {
    static let name = "check-config"
    static let summary = "Shows the configuration in force, secrets masked, or every fault in it at once."
    static let synopsis = ["check-config [--json]"]
    static let options = [Option.json]

    private let words: Words

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        self.words = words
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words)
        // Faults in the catalogues are faults of the configuration: the worker would not start with them.
        let catalogs = configuration.catalogs == nil ? nil : try Footing(configuration: configuration).catalogs()
        guard words.has("json") else {
            surroundings.print(configuration.describe())
            if let catalogs {
                let apps = catalogs.catalogs.map { "\($0.app) (\($0.types.count) types)" }
                surroundings.print("catalogues: \(apps.joined(separator: ", "))")
            }
            return .done
        }
        let settings = configuration.effective.map { effective in
            JSONText.object([
                ("setting", .text(effective.setting.environmentName)), ("value", .optional(effective.shown)),
                ("source", .text("\(effective.source)")),
            ])
        }
        let apps = (catalogs?.catalogs ?? []).map { JSONText.text($0.app.text) }
        surroundings.print(JSONText.object([("settings", .list(settings)), ("apps", .list(apps))]).description)
        return .done
    }
}
