import BellhopRules
import ServiceRuntime

/// The command `bellhop validate FILE|-`.
enum ValidateCommand: Command {
    static let name = "validate"
    static let summary = "Says of each event in a file whether Bellhop would take it, and if not, why."
    static let synopsis = ["validate FILE|- [--json]"]
    static let options = [Option.json]

    static func run(_ call: Call) async throws -> ExitCode {
        let path = try call.words.file()
        let catalogs = try call.footing(requiring: [.catalogs]).catalogs()
        let file = try EventFile(reading: path, for: "validating", call, catalogs)
        let taken = file.entries.count - file.rejected.count
        call.answer(
            .list(file.entries.map(json)),
            lines: file.entries.map { line($0, catalogs) } + ["\(taken) of \(file.entries.count) would be taken"]
        )
        return file.rejected.isEmpty ? .done : .badInput
    }

    static func line(_ entry: EventFile.Entry, _ catalogs: CatalogSet) -> String {
        switch entry.judgement {
        case .success(.event(let event)):
            let lane = catalogs[event.app]?[event.type]?.priority.lane
            let way = lane.map { ", \($0.rawValue) lane" } ?? ""
            return "line \(entry.line): ok, \(event.app).\(event.type) \(event.id) to \(event.audience.summary)\(way)"
        case .success(.feed(let update)): return "line \(entry.line): ok, \(update.app).\(update.change.type.rawValue)"
        case .success(.cancellation(let app, let event)): return "line \(entry.line): ok, \(app) takes back \(event)"
        case .failure(let rejection): return "line \(entry.line): refused, \(rejection.summary)"
        }
    }

    private static func json(_ entry: EventFile.Entry) -> JSONText {
        guard case .failure(let rejection) = entry.judgement else {
            return .object([("line", .number(entry.line)), ("valid", .flag(true))])
        }
        return .object([
            ("line", .number(entry.line)), ("valid", .flag(false)), ("reason", .text(rejection.reason.rawValue)),
            ("pointer", .text(rejection.pointer.description)), ("message", .text(rejection.message)),
        ])
    }
}

extension Rejection {
    /// Reason, place and words in one line.
    var summary: String {
        let place = pointer.description.isEmpty ? "" : " at \(pointer)"
        return "\(reason.rawValue)\(place): \(message)"
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
