import BellhopRules
import CLI
import Roles
import ServiceRuntime
import Store

/// The command `bellhop revoke-stale --days N [--app APP] [--dry-run] [--json]`.
enum RevokeStaleCommand: Command {
    static let name = "revoke-stale"
    static let summary = "Revokes devices that have not registered for N days."
    static let synopsis = ["revoke-stale --days N [--app APP] [--dry-run] [--json]"]
    static let options = [
        Option.taking("days", "N", "days since the last registration, such as 90"),
        Option.taking("app", "APP", "only devices of this app"),
        Option.switch("dry-run", "report the number of devices, revoke none"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        guard let days = try call.words.number("days", in: 1...36_500) else {
            throw call.words.misuse("--days is missing: say for days since the last registration, such as 90")
        }
        var search = StaleDeviceWalk.Search(days: days)
        search.app = try call.words.optional("app", AppID.rule, AppID.init(validating:))
        search.isRehearsal = call.words.has("dry-run")
        let walk = try await walk(call, search)
        if walk.total == 0, let app = search.app { doubt(app, call) }
        call.answer(json(walk, search), text(walk, search))
        return .done
    }

    /// Warns if no catalogue describes the app, since an operator would otherwise trust the result "0".
    ///
    /// It is not an error, because a discontinued app may still have devices.
    private static func doubt(_ app: AppID, _ call: Call) {
        guard let setup = try? call.setup(requiring: [.databaseURL]), setup.configuration.catalogs != nil,
            let catalogs = try? setup.catalogs(), catalogs[app] == nil
        else { return }
        let hint = NearestName.hint(app.text, among: catalogs.catalogs.map(\.app.text))
        call.shell.complaints.print(line: "no catalogue describes \(app)\(hint)")
    }

    private static func walk(_ call: Call, _ search: StaleDeviceWalk.Search) async throws -> StaleDeviceWalk {
        let terminal = call.shell.terminal
        let setup = try call.setup(requiring: [.databaseURL])
        return try await reaching(
            for: "revoke-stale",
            isAct: true,
            whatToDo: "bring the database back, then run it again: what has ended meanwhile is not looked for twice"
        ) {
            try await setup.withPool(as: .worker, name: name) { pool in
                var walk = StaleDeviceWalk(pool: pool, search: search)
                var told = 0
                while try await walk.step() {
                    guard walk.looked - told >= stride else { continue }
                    told = walk.looked
                    let looked = "\(walk.looked.grouped) subscriptions looked at"
                    terminal?.show("\(looked), \(walk.total.grouped) \(verb(search))")
                }
                return walk
            }
        }
    }

    /// Number of checked subscriptions between two progress lines.
    private static let stride = 100_000

    private static func verb(_ search: StaleDeviceWalk.Search) -> String {
        search.isRehearsal ? "would end" : "ended"
    }

    private static func groups(_ walk: StaleDeviceWalk) -> [(group: StaleDeviceWalk.Group, count: Int)] {
        walk.found.map { ($0.key, $0.value) }.sorted {
            ($0.group.app, $0.group.provider) < ($1.group.app, $1.group.provider)
        }
    }

    private static func json(_ walk: StaleDeviceWalk, _ search: StaleDeviceWalk.Search) -> JSONValue {
        guard search.isRehearsal else { return .members([("revoked", .int(walk.total))]) }
        let groups = groups(walk).map { group, count in
            JSONValue.members([
                ("app", .string(group.app)), ("provider", .string(group.provider)), ("subscriptions", .int(count)),
            ])
        }
        return .members([("dryRun", .bool(true)), ("wouldRevoke", .int(walk.total)), ("of", .array(groups))])
    }

    private static func text(_ walk: StaleDeviceWalk, _ search: StaleDeviceWalk.Search) -> String {
        let days = search.days == 1 ? "a day" : "\(search.days) days"
        let devices = walk.total.of("subscription")
        guard search.isRehearsal else {
            return "ended \(devices) not seen for \(days); a device that comes back lives again"
        }
        let lines = groups(walk).map { group, count in "  \(group.app), \(group.provider): \(count.grouped)" }
        return (["would end \(devices) not seen for \(days); none was ended"] + lines).joined(separator: "\n")
    }
}
