import BellhopRules
import CLI
import Foundation
import Publishing
import ServiceRuntime
import Store

/// The events in a file: one JSON object, or one object per line.
struct EventFile: Sendable {
    /// One message of the file and the result of its validation.
    struct Entry: Sendable {
        /// The line on which the message begins, counted from 1.
        let line: Int
        let body: [UInt8]
        let judgement: Result<Submission, Rejection>
        /// The reason for a rejection, with positions in the file; `nil` if the message is valid.
        let complaint: String?

        /// The message to publish; `nil` if it is rejected or ignored.
        var event: ValidEvent? {
            guard case .success(let submission) = judgement else { return nil }
            if case .ignored = submission { return nil }
            return ValidEvent(submission, in: InboundEnvelope(body: body, source: .elsewhere))
        }
    }

    /// The text of one message, with its position in the file.
    private struct Document {
        let line: Int
        let body: [UInt8]
        /// The lines and bytes of the file before the body.
        var lines = 0
        var bytes = 0
        /// Whether the body has several lines of the file, although it may have been meant as one message per line.
        var hasSeveralLines = false
    }

    let entries: [Entry]

    var rejected: [Entry] { entries.filter { $0.complaint != nil } }

    /// Reads and judges a file, which must contain an event.
    ///
    /// `attempted` names the purpose in error messages. `mapping` is the routing key of another application's messages,
    /// or `nil` for messages in Bellhop's own form.
    init(
        reading path: String,
        for attempted: String,
        as mapping: String?,
        _ call: Call,
        _ catalogs: CatalogSet
    ) throws(CommandFailure) {
        self.init(try Self.read(path, call.shell), as: mapping, catalogs: catalogs)
        guard entries.isEmpty else { return }
        throw CommandFailure(
            .badInput,
            attempted: "\(attempted) \(path)",
            cameBack: "there is no event in it",
            whatToDo: "write one JSON object, or one object per line"
        )
    }

    /// Judges every message of a whole file, as if it arrived now.
    init(_ bytes: [UInt8], as mapping: String? = nil, catalogs: CatalogSet) {
        let now = SystemTime().timestamp
        let validator = EventValidator(catalogs, parser: .hashing(catalogs))
        entries = Self.documents(bytes).map { document in
            let source = mapping.map { InboundEnvelope.Source.eventsExchange(routingKey: $0) } ?? .elsewhere
            let judgement = validator.judge(InboundEnvelope(body: document.body, source: source), at: now)
            return Entry(
                line: document.line,
                body: document.body,
                judgement: judgement,
                complaint: Self.complaint(judgement, document)
            )
        }
    }

    private static func complaint(_ judgement: Result<Submission, Rejection>, _ document: Document) -> String? {
        guard case .failure(let rejection) = judgement else { return nil }
        guard case .failure(let fault) = JSONParser(limits: .event).parse(document.body),
            rejection.message == fault.message
        else { return rejection.message }
        let hint = document.hasSeveralLines && fault.code == .trailingContent ? "; write each event on one line" : ""
        return fault.after(lines: document.lines, bytes: document.bytes).message + hint
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

    /// Splits a file into messages.
    ///
    /// A file that is one JSON document is one message, regardless of its number of lines, and so is a file whose first
    /// line is the beginning of a document that the second line continues. Any other file has one message per line.
    private static func documents(_ bytes: [UInt8]) -> [Document] {
        let newline = UInt8(ascii: "\n")
        let isBlank = { (line: ArraySlice<UInt8>) in line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) } }
        let lines = bytes.split(separator: newline, omittingEmptySubsequences: false)
        let filled = lines.enumerated().filter { !isBlank($1) }
        guard let first = filled.first else { return [] }
        let isContinued =
            filled.count > 1 && fault(in: first.element)?.code == .unexpectedEnd && fault(in: filled[1].element) != nil
        guard filled.count > 1, !isContinued, fault(in: bytes[...]) != nil else {
            return [Document(line: first.offset + 1, body: bytes, hasSeveralLines: filled.count > 1)]
        }
        return filled.map { line in
            Document(
                line: line.offset + 1,
                body: Array(line.element),
                lines: line.offset,
                bytes: line.element.startIndex
            )
        }
    }

    private static func fault(in bytes: ArraySlice<UInt8>) -> JSONFault? {
        guard case .failure(let fault) = JSONParser(limits: .event).parse(Array(bytes)) else { return nil }
        return fault
    }
}

extension Option {
    static let mapping = Option.taking(
        "from",
        "APP.MAPPING",
        "convert each message by this mapping of the app's catalogue"
    )
}

extension Call {
    /// The routing key of the mapping that the option names; `nil` without the option.
    func mapping(in catalogs: CatalogSet) throws(CommandFailure) -> String? {
        guard let key = words.value("from") else { return nil }
        let known = catalogs.catalogs.flatMap { catalog in catalog.mappings.map { "\(catalog.app).\($0.name)" } }
        guard !known.contains(key) else { return key }
        let advice = known.isEmpty ? "no catalogue has a mapping" : "known are \(known.joined(separator: ", "))"
        throw words.misuse("--from \(HumanText.cut(key, to: 60)) is not a mapping, \(advice)")
    }
}
