import BellhopRules
import CLI
import Foundation
import ServiceRuntime

/// The events in a file: one JSON object, or one object per line.
struct EventFile: Sendable {
    /// One message of the file and the result of its validation.
    struct Entry: Sendable {
        /// The line on which the message begins, counted from 1.
        let line: Int
        let body: [UInt8]
        let judgement: Result<Submission, Rejection>
    }

    let entries: [Entry]

    var rejected: [(line: Int, rejection: Rejection)] {
        entries.compactMap { entry in
            guard case .failure(let rejection) = entry.judgement else { return nil }
            return (entry.line, rejection)
        }
    }

    /// Reads and judges a file, which must contain an event.
    ///
    /// `attempted` names the purpose in error messages.
    init(reading path: String, for attempted: String, _ call: Call, _ catalogs: CatalogSet) throws(CommandFailure) {
        self.init(try Self.read(path, call.shell), catalogs: catalogs)
        guard entries.isEmpty else { return }
        throw CommandFailure(
            .badInput,
            attempted: "\(attempted) \(path)",
            cameBack: "there is no event in it",
            whatToDo: "write one JSON object, or one a line"
        )
    }

    /// Judges every message of a whole file, as if it arrived now.
    init(_ bytes: [UInt8], catalogs: CatalogSet) {
        let now = SystemTime().timestamp
        entries = Self.documents(bytes).map { line, body in
            Entry(line: line, body: body, judgement: Self.judge(body, catalogs, now))
        }
    }

    /// Reads a file, or stdin for `-`.
    static func read(_ path: String, _ shell: CommandEnvironment) throws(CommandFailure) -> [UInt8] {
        let isInput = path == "-"
        let bytes =
            isInput ? shell.readInput() : (try? Data(contentsOf: URL(fileURLWithPath: path))).map { [UInt8]($0) }
        guard let bytes else {
            throw CommandFailure(
                .badInput,
                attempted: "reading \(isInput ? "stdin" : path)",
                cameBack: "\(isInput ? "it" : "the file") cannot be read",
                whatToDo: "name a readable file, or - for stdin"
            )
        }
        return bytes
    }

    /// Judges a message as a worker does, without the checks that need the database.
    private static func judge(
        _ body: [UInt8],
        _ catalogs: CatalogSet,
        _ now: Timestamp
    ) -> Result<Submission, Rejection> {
        let envelope = InboundEnvelope(body: body, source: .elsewhere)
        return SubmissionParser.hashing(catalogs).parse(envelope).flatMap { submission in
            guard case .event(let event) = submission, let catalog = catalogs[event.app] else {
                return .success(submission)
            }
            if let rejection = event.refusal(at: now) { return .failure(rejection) }
            return catalog.render(event, language: nil).map { _ in submission }
        }
    }

    /// Splits a file into messages.
    ///
    /// A file that is one JSON document is one message, regardless of its number of lines. Any other file has one
    /// message per line.
    private static func documents(_ bytes: [UInt8]) -> [(Int, [UInt8])] {
        let newline = UInt8(ascii: "\n")
        let isBlank = { (line: ArraySlice<UInt8>) in line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) } }
        let lines = bytes.split(separator: newline, omittingEmptySubsequences: false)
        let filled = lines.enumerated().filter { !isBlank($1) }
        guard let first = filled.first else { return [] }
        let isSingle = filled.count == 1 || !first.element.contains(UInt8(ascii: "}")) || isDocument(bytes)
        guard !isSingle else { return [(first.offset + 1, bytes)] }
        return filled.map { ($0.offset + 1, Array($0.element)) }
    }

    private static func isDocument(_ bytes: [UInt8]) -> Bool {
        if case .success = JSONParser(limits: .event).parse(bytes) { return true }
        return false
    }
}
