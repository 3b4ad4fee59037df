import BellhopRules
import CLI
import Roles
import ServiceRuntime
import Settings
import Store

/// The command `bellhop import notifications FILE`.
enum ImportCommand: Command {
    static let name = "import"
    static let summary = "Imports past notifications into the inboxes, without sending anything."
    static let synopsis = ["import notifications FILE|- [--from-line N] [--json]"]
    static let options = [
        Option.taking("from-line", "N", "begin with this line, to continue an interrupted import"),
        Option.json,
    ]

    /// The limit of one transaction.
    private static let rows = 500
    private static let bytes = 2 << 20
    /// The limit of a line, which is that of an event.
    private static let longestLine = JSONParser.Limits.event.bytes

    static func run(_ call: Call) async throws -> ExitCode {
        guard call.words.operands.count == 2, call.words.operands[0] == "notifications" else {
            throw call.words.misuse("expected: import notifications FILE")
        }
        let path = call.words.operands[1]
        let first = try call.words.number("from-line", in: 1...Int.max) ?? 1
        let setup = try call.setup(requiring: [.databaseURL, .catalogs])
        let catalogs = try setup.catalogs()
        guard let reader = LineReader(path: path == "-" ? "/dev/stdin" : path, limit: longestLine) else {
            throw CommandFailure(
                .badInput,
                attempted: "importing \(path)",
                cameBack: "the file cannot be read",
                whatToDo: "name a readable file of JSON lines"
            )
        }
        var progress = Progress(
            oldest: setup.configuration.retention[.notifications].map { age in
                Timestamp(clamping: SystemTime().timestamp.microseconds - age.microseconds)
            }
        )
        let patience = "the lines before \(first) are untouched; a repetition changes nothing"
        try await reaching(
            for: "importing \(path)",
            isAct: true,
            whatToDo: "bring the database back, then run it again: \(patience)"
        ) {
            try await setup.withPool(as: .worker, name: name, patience: .seconds(120)) { pool in
                try await read(reader, from: first, catalogs, into: WorkerStore(pool: pool), &progress, call.shell)
            }
        }
        call.answer(progress.json, lines: progress.words)
        return progress.faults == 0 ? .done : .badInput
    }

    private static func read(
        _ lines: LineReader,
        from first: Int,
        _ catalogs: CatalogSet,
        into store: WorkerStore,
        _ progress: inout Progress,
        _ shell: CommandEnvironment
    ) async throws {
        var lines = lines
        var waiting: [HistoricNotification] = []
        var size = 0
        while let line = try lines.next() {
            guard line.number >= first, line.bytes?.allSatisfy(isBlank) != true else { continue }
            progress.lines += 1
            do throws(HistoryLine.Fault) {
                let read = try parse(line, catalogs)
                guard progress.oldest.map({ read.createdAt >= $0 }) ?? true else {
                    progress.tooOld += 1
                    continue
                }
                waiting.append(read.notification)
                size += read.bytes
            } catch {
                progress.faults += 1
                shell.complaints.print(line: "line \(line.number): \(error.description)")
            }
            guard waiting.count >= rows || size >= bytes else { continue }
            try await write(&waiting, to: store, &progress, upTo: line.number, shell)
            size = 0
        }
        try await write(&waiting, to: store, &progress, upTo: nil, shell)
    }

    private static func parse(_ line: LineReader.Line, _ catalogs: CatalogSet) throws(HistoryLine.Fault) -> HistoryLine
    {
        guard let bytes = line.bytes else {
            throw HistoryLine.Fault(pointer: "", message: "longer than \(longestLine) bytes")
        }
        return try HistoryLine(bytes, catalogs, now: SystemTime().timestamp)
    }

    private static func write(
        _ waiting: inout [HistoricNotification],
        to store: WorkerStore,
        _ progress: inout Progress,
        upTo line: Int?,
        _ shell: CommandEnvironment
    ) async throws {
        progress.outcome += try await store.importHistory(waiting)
        waiting = []
        if let line { shell.terminal?.show("imported up to line \(line.grouped)") }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }

    /// The state of an import.
    private struct Progress {
        /// Older notifications would be deleted by the next retention run; `nil` if none are.
        let oldest: Timestamp?
        var outcome = HistoryOutcome()
        var lines = 0
        var tooOld = 0
        var faults = 0

        init(oldest: Timestamp?) { self.oldest = oldest }

        var json: JSONValue {
            .members([
                ("lines", .int(lines)), ("imported", .int(outcome.written)), ("existing", .int(outcome.existing)),
                ("erased", .int(outcome.erased)), ("tooOld", .int(tooOld)), ("invalid", .int(faults)),
            ])
        }

        var words: [String] {
            var words = ["imported \(outcome.written.grouped) of \(lines.of("notification"))"]
            if outcome.existing > 0 { words.append("\(outcome.existing.grouped) were there before") }
            if outcome.erased > 0 { words.append("\(outcome.erased.grouped) belong to erased users and were left out") }
            if tooOld > 0 { words.append("\(tooOld.grouped) are older than BELLHOP_RETENTION keeps and were left out") }
            if faults > 0 { words.append("\(faults.grouped) are invalid; correct them and run it again") }
            return words
        }
    }
}
