import BellhopRules
import CLI
import Pipeline
import ServiceRuntime
import Settings

/// The command `bellhop decide`.
///
/// It applies all rules to one event and one user, without servers.
enum DecideCommand: Command {
    static let name = "decide"
    static let summary = "Evaluates the rules for an event and a user, offline and without sending."
    static let synopsis = ["decide --catalog FILE --event FILE --recipient FILE [--at INSTANT] [--json]"]
    static let options = [
        Option.taking("catalog", "FILE", "the app's catalogue"),
        Option.taking("event", "FILE", "one event in the plain form; \"to\" and \"app\" may be left out"),
        Option.taking("recipient", "FILE", "the fields of recipient.upserted, with devices, follow, read"),
        Option.taking("at", "INSTANT", "as of this instant, such as 2026-03-29T00:30:00Z; now without it"),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        try call.words.expectNoOperands()
        let files = try ["catalog", "event", "recipient"].map { (option) throws(CommandFailure) in
            try call.words.required(option, "a file, or - for stdin") { $0.isEmpty ? nil : $0 }
        }
        guard files.count(where: { $0 == "-" }) <= 1 else {
            throw call.words.misuse("only one of the files can be stdin")
        }
        let isNow = call.words.value("at") == nil
        let now =
            try isNow ? SystemTime().timestamp : call.words.required("at", Timestamp.rule, Timestamp.init(validating:))
        let catalogs = try sound(CatalogSet.load(files: [(files[0], read(files[0], call))]), in: files[0])
        let document = try sound(RecipientDocument.read(read(files[2], call), file: files[2]), in: files[2])
        let file = NamedEvent(file: files[1], bytes: try read(files[1], call))
        let event = try file.event(catalogs, document, of: files[2])
        let zones = ZoneLibrary(environment: call.shell.environment)
        guard let catalog = catalogs[event.app],
            let explained = ExplainedDecision(catalog, event, document, at: now, zones)
        else {
            let what = "the catalogue does not know \(event.app) and \(event.type)"
            throw file.fault(what, "name the app's own catalogue")
        }
        switch explained.words() {
        case .success(let words): call.answer(explained.json(words), explained.text(words))
        case .failure(let rejection): throw file.refused(rejection)
        }
        return .done
    }

    private static func read(_ path: String, _ call: Call) throws(CommandFailure) -> [UInt8] {
        try EventFile.read(path, call.shell)
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
}

/// The event that a command line names.
private struct NamedEvent {
    let file: String
    let bytes: [UInt8]

    /// Returns the event.
    ///
    /// A missing app is the catalogue's. A missing audience is the catalogue's, else the user or, if
    /// the user's file has a follow, a topic.
    func event(
        _ catalogs: CatalogSet,
        _ document: RecipientDocument,
        of recipientFile: String
    ) throws(CommandFailure) -> Event {
        let body = completed(document, catalogs.catalogs.first)
        let envelope = InboundEnvelope(body: body, source: .elsewhere)
        let submission: Submission
        switch SubmissionParser.hashing(catalogs).parse(envelope) {
        case .success(let understood): submission = understood
        case .failure(let rejection): throw refused(rejection)
        }
        guard case .event(let event) = submission else {
            throw fault("it is a feed message, a cancellation or an ignored message, not an event", "name an event")
        }
        if case .users(let users) = event.audience, let user = document.user, !users.contains(user) {
            throw fault("it is not for the user of \(recipientFile)", "name one of its users, or leave \"to\" out")
        }
        return event
    }

    /// Fills in the missing app and audience.
    ///
    /// Bytes that are not a JSON object stay unchanged, and the parser reports the fault.
    private func completed(_ document: RecipientDocument, _ catalog: Catalog?) -> [UInt8] {
        guard case .success(.object(var object)) = JSONParser(limits: .event).parse(bytes) else { return bytes }
        func complete(_ field: EventField, _ value: JSONValue?) {
            if (object[field.rawValue] ?? .null) == .null { object[field.rawValue] = value }
        }
        complete(.app, (catalog?.app).map { .string($0.text) })
        let type = object[EventField.eventType.rawValue]?.string.flatMap(EventType.init(validating:))
        if type.flatMap({ catalog?[$0]?.audience }) == nil {
            let user: JSONValue = ["user": .string(document.user?.text ?? "user")]
            complete(.to, document.follow == nil ? user : ["topic": "topic"])
        }
        return JSONWriter.canonicalBytes(of: .object(object))
    }

    func refused(_ rejection: Rejection) -> CommandFailure {
        fault("refused, \(rejection.summary)", "correct it; bellhop validate reports the same fault")
    }

    func fault(_ cameBack: String, _ whatToDo: String) -> CommandFailure {
        CommandFailure(
            .badInput,
            attempted: "reading the event in \(file)",
            cameBack: cameBack,
            whatToDo: whatToDo
        )
    }
}
