import BellhopRules
import ServiceRuntime

/// The command `bellhop validate FILE|-`.
struct ValidateCommand: Command {
    static let name = "validate"
    static let summary = "Says of each event in a file whether Bellhop would take it, and if not, why."
    static let synopsis = ["validate FILE|- [--json]"]
    static let options = [Option.json]

    private let words: Words
    private let path: String

    init(_ words: Words) throws(CommandFailure) {
        guard words.operands.count == 1 else { throw .usage(of: Self.name, "expected one file, or - for stdin") }
        self.words = words
        path = words.operands[0]
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let configuration = try surroundings.configuration(words, requiring: [.catalogs])
        let catalogs = try Footing(configuration: configuration).catalogs()
        let file = EventFile(try EventFile.read(path, surroundings), catalogs: catalogs)
        guard !file.entries.isEmpty else {
            throw CommandFailure(
                .badInput,
                attempted: "validating \(path)",
                cameBack: "there is no event in it",
                whatToDo: "write one JSON object, or one a line"
            )
        }
        if words.has("json") {
            surroundings.print(JSONText.list(file.entries.map(Self.json)).description)
        } else {
            for entry in file.entries { surroundings.print(line: Self.line(entry, catalogs)) }
            surroundings.print("\(file.entries.count - file.rejected.count) of \(file.entries.count) would be taken")
        }
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
