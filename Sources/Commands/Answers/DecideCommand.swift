import BellhopRules
import Pipeline
import ServiceRuntime

/// The command `bellhop decide`: all rules for one event and one user, without servers.
struct DecideCommand: Command {
    static let name = "decide"
    static let summary = "Says what becomes of an event for a user, and by which rules: no servers, nothing is sent."
    static let synopsis = ["decide --catalog FILE --event FILE --recipient FILE [--at INSTANT] [--json]"]
    static let options = [
        Option.taking("catalog", "FILE", "the app's catalogue"),
        Option.taking("event", "FILE", "one event in the plain form; \"to\" and \"app\" may be left out"),
        Option.taking("recipient", "FILE", "the fields of recipient.upserted, with devices, follow, read"),
        Option.taking("at", "INSTANT", "as of this instant, such as 2026-03-29T00:30:00Z; now without it"),
        Option.json,
    ]

    private let catalogFile: String
    private let eventFile: String
    private let recipientFile: String
    private let instant: Timestamp?
    private let wantsJSON: Bool

    init(_ words: Words) throws(CommandFailure) {
        try words.expectNoOperands(of: Self.name)
        func file(_ option: String) throws(CommandFailure) -> String {
            try words.required(option, "a file, or - for stdin", of: Self.name) { $0.isEmpty ? nil : $0 }
        }
        catalogFile = try file("catalog")
        eventFile = try file("event")
        recipientFile = try file("recipient")
        guard [catalogFile, eventFile, recipientFile].filter({ $0 == "-" }).count <= 1 else {
            throw .usage(of: Self.name, "only one of the files can be stdin")
        }
        instant =
            words.value("at") == nil
            ? nil : try words.required("at", Timestamp.rule, of: Self.name, Timestamp.init(validating:))
        wantsJSON = words.has("json")
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let bytes = try EventFile.read(catalogFile, surroundings)
        let catalogs = try Self.sound(CatalogSet.load(files: [(catalogFile, bytes)]), in: catalogFile)
        let document = try Self.sound(
            RecipientDocument.read(try EventFile.read(recipientFile, surroundings), file: recipientFile),
            in: recipientFile
        )
        let event = try event(try EventFile.read(eventFile, surroundings), catalogs, document)
        let now = instant ?? Timestamp(clamping: SystemTime().now().microseconds)
        let zones = ZoneLibrary(environment: surroundings.environment)
        guard let catalog = catalogs[event.app], let trial = Trial(catalog, event, document, at: now, zones) else {
            throw fault("the catalogue does not know \(event.app) and \(event.type)", "name the app's own catalogue")
        }
        let words: (RenderedContent, LanguageTag?)
        switch trial.words() {
        case .success(let rendered): words = rendered
        case .failure(let rejection): throw refused(rejection)
        }
        surroundings.print(wantsJSON ? trial.json(words).description : trial.text(words))
        return .done
    }

    /// The event, of the catalogue's app and addressed to the user where it says nothing of its own.
    private func event(
        _ bytes: [UInt8],
        _ catalogs: CatalogSet,
        _ document: RecipientDocument
    ) throws(CommandFailure) -> Event {
        let body = Self.completed(bytes, document, app: catalogs.catalogs.first?.app)
        let envelope = InboundEnvelope(body: body, source: .elsewhere)
        let submission: Submission
        switch SubmissionParser(catalogs).parse(envelope) {
        case .success(let understood): submission = understood
        case .failure(let rejection): throw refused(rejection)
        }
        guard case .event(let event) = submission else {
            throw fault("it feeds or takes back, and is no event", "name an event")
        }
        if case .users(let users) = event.audience, let user = document.user, !users.contains(user) {
            throw fault("it is not for the user of \(recipientFile)", "name one of its users, or leave \"to\" out")
        }
        return event
    }

    /// Bytes that are no object stay as they are: the parser says what is wrong.
    private static func completed(_ bytes: [UInt8], _ document: RecipientDocument, app: AppID?) -> [UInt8] {
        guard case .success(.object(var object)) = JSONParser(limits: .event).parse(bytes) else { return bytes }
        func complete(_ field: EventField, _ value: JSONValue?) {
            if (object[field.rawValue] ?? .null) == .null { object[field.rawValue] = value }
        }
        complete(.app, app.map { .string($0.text) })
        complete(.to, document.follow == nil ? ["user": .string(document.user?.text ?? "user")] : ["topic": "topic"])
        return JSONWriter.canonicalBytes(of: .object(object))
    }

    private static func sound<Value>(
        _ result: Result<Value, CatalogFaults>,
        in file: String
    ) throws(CommandFailure) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let faults):
            let lines = faults.faults.map(\.description)
            throw CommandFailure(
                .badInput,
                attempted: "reading \(file)",
                cameBack: (lines.count > 1 ? "\(lines.count) faults: " : "") + lines.joined(separator: "; "),
                whatToDo: "mend it"
            )
        }
    }

    private func refused(_ rejection: Rejection) -> CommandFailure {
        fault("refused, \(rejection.summary)", "mend it, as bellhop validate would say too")
    }

    private func fault(_ cameBack: String, _ whatToDo: String) -> CommandFailure {
        CommandFailure(
            .badInput,
            attempted: "reading the event in \(eventFile)",
            cameBack: cameBack,
            whatToDo: whatToDo
        )
    }
}
