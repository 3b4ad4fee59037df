import BellhopRules
import CLI
import Operations
import Roles
import ServiceRuntime

/// The command `bellhop validate FILE|-`.
enum ValidateCommand: Command {
    static let name = "validate"
    static let summary = "Checks whether Bellhop would accept each event in a file."
    static let synopsis = ["validate FILE|- [--from APP.MAPPING] [--json]"]
    static let options = [Option.mapping, .json]

    static func run(_ call: Call) async throws -> ExitCode {
        let path = try call.words.file()
        let setup = try call.setup(requiring: [.catalogs])
        let catalogs = try setup.catalogs()
        let mapping = try call.mapping(in: catalogs)
        let file = try EventFile(reading: path, for: "validating", as: mapping, call, catalogs)
        let taken = file.entries.count - file.rejected.count
        let apps = Set(file.entries.compactMap(\.appOfEveryone)).sorted()
        let everyone = apps.isEmpty ? [] : await counts(of: apps, setup)
        let rule = apps.isEmpty || !everyone.isEmpty ? [] : [EveryoneCount.rule]
        let warnings = EventWarnings(file.entries, catalogs, at: SystemTime().timestamp)
        let warned = warnings.count == 0 ? "" : ", \(warnings.count) of them with a warning"
        call.answer(
            .members(
                [
                    ("valid", .int(taken)),
                    ("events", .array(file.entries.indices.map { json(file.entries[$0], warnings[$0]) })),
                ] + (everyone.isEmpty ? [] : [("everyone", .array(everyone.map(\.json)))])
            ),
            lines: file.entries.indices.flatMap { place in
                [line(file.entries[place], catalogs)] + warnings[place].map { "  warning: \($0)" }
                    + (made(file.entries[place]).map { ["  becomes \($0.written)"] } ?? [])
            }
                + everyone.map(\.text) + rule + ["\(taken) of \(file.entries.count) would be accepted\(warned)"]
        )
        return file.rejected.isEmpty ? .done : .badInput
    }

    /// Counts everyone of each app; empty without a database, which validation does not require.
    private static func counts(of apps: [String], _ setup: CommandContext) async -> [EveryoneCount] {
        guard setup.configuration.databaseURL != nil else { return [] }
        let found = try? await setup.withOperatorPool(name, isAct: false) { pool in
            var counts: [EveryoneCount] = []
            for app in apps { counts.append(try await EveryoneCount(in: app, on: pool)) }
            return counts
        }
        return found ?? []
    }

    static func line(_ entry: EventFile.Entry, _ catalogs: CatalogSet) -> String {
        switch entry.judgement {
        case .success(.event(let event)):
            let lane = catalogs[event.app]?[event.type]?.priority.lane
            let way = lane.map { ", \($0.rawValue) lane" } ?? ""
            let made = event.mapping.map { " by from.\($0)" } ?? ""
            return
                "line \(entry.line): ok, \(event.app).\(event.type) \(event.id) to \(event.audience.summary)\(way)\(made)"
        case .success(.feed(let update)): return "line \(entry.line): ok, \(update.app).\(update.change.type.rawValue)"
        case .success(.cancellation(let app, let event)): return "line \(entry.line): ok, \(app) takes back \(event)"
        case .success(.ignored(_, let mapping)): return "line \(entry.line): ok, ignored by from.\(mapping)"
        case .failure(let rejection):
            // The file belongs to the caller, so its content may be shown.
            let found = found(entry, rejection).map { "; it is \($0)" } ?? ""
            let meant = meant(entry, rejection, catalogs).map { ", did you mean \($0)?" } ?? ""
            return "line \(entry.line): rejected, \(entry.summary ?? rejection.message)\(found)\(meant)"
        }
    }

    /// Returns the text or number at the place of the fault.
    private static func found(_ entry: EventFile.Entry, _ rejection: Rejection) -> String? {
        guard !rejection.pointer.steps.isEmpty,
            let document = try? JSONParser(limits: .event).parse(entry.body).get(),
            let value = rejection.pointer.value(in: document)
        else { return nil }
        switch value {
        case .string, .number:
            return HumanText.cut(String(decoding: JSONWriter.canonicalBytes(of: value), as: UTF8.self), to: 60)
        default: return nil
        }
    }

    /// Returns the known app or type that is nearest to an unknown one.
    private static func meant(_ entry: EventFile.Entry, _ rejection: Rejection, _ catalogs: CatalogSet) -> String? {
        let document = try? JSONParser(limits: .event).parse(entry.body).get()
        guard let app = document?["app"]?.string else { return nil }
        switch rejection.reason {
        case .unknownApp: return NearestName.find(app, among: catalogs.catalogs.map(\.app.text))
        case .unknownType:
            let types = catalogs.catalogs.first { $0.app.text == app }?.types.map(\.type.text) ?? []
            return document?["eventType"]?.string.flatMap { NearestName.find($0, among: types) }
        default: return nil
        }
    }

    /// Returns the event that a mapping has made; `nil` for a message in Bellhop's own form.
    private static func made(_ entry: EventFile.Entry) -> JSONValue? {
        guard case .success(.event(let event)) = entry.judgement, event.mapping != nil else { return nil }
        return try? JSONParser(limits: .event).parse(event.plainForm()).get()
    }

    private static func json(_ entry: EventFile.Entry, _ warnings: [String]) -> JSONValue {
        guard case .failure(let rejection) = entry.judgement else {
            return .members(
                [("line", .int(entry.line)), ("valid", .bool(true))]
                    + (warnings.isEmpty ? [] : [("warnings", .array(warnings.map(JSONValue.string)))])
                    + (made(entry).map { [("event", $0)] } ?? [])
            )
        }
        return .members([
            ("line", .int(entry.line)), ("valid", .bool(false)), ("reason", .string(rejection.reason.rawValue)),
            ("pointer", .string(rejection.pointer.description)), ("message", .optional(entry.complaint)),
        ])
    }
}

extension Rejection {
    /// Reason, place and message in one line.
    var summary: String { summary(message) }

    fileprivate func summary(_ message: String) -> String {
        let place = pointer.description.isEmpty ? "" : " at \(pointer)"
        return "\(reason.rawValue)\(place): \(message)"
    }
}

extension EventFile.Entry {
    /// The app of an event for everyone.
    fileprivate var appOfEveryone: String? {
        guard case .success(.event(let event)) = judgement, event.audience == .everyone else { return nil }
        return event.app.text
    }

    /// Reason, place and complaint of a rejection in one line; `nil` if the message is valid.
    var summary: String? {
        guard case .failure(let rejection) = judgement, let complaint else { return nil }
        return rejection.summary(complaint)
    }
}

extension Audience {
    fileprivate var summary: String {
        switch self {
        case .users(let users): users.count == 1 ? "1 user" : "\(users.count) users"
        case .topic(let topic): "the followers of \(topic)"
        case .everyone: "everyone"
        }
    }
}
