import BellhopRules
import Operations
import ServiceRuntime
import Store

extension DeadLetterSession {
    /// Performs `export`: it writes all items that match the filter as JSON lines.
    ///
    /// They include personal data, so the export is recorded in the audit.
    func export() async throws -> ExitCode {
        let (filter, items) = try await operations.previewExport(input)
        let file = try ExportFile(path: words.value("output"), else: request.shell.output)
        let written = try await operations.export(filter, items: items, by: try actingOperator()) { page in
            guard file.isWanted else { return false }
            try file.write(page.map(\.json.written))
            return true
        }
        try file.close()
        if let path = words.value("output") {
            try await operations.markExported(written)
            answer(
                .members([("items", .int(written.count))]),
                lines: ["Wrote \(written.count.of("item")) to \(path)."]
            )
        }
        return .done
    }

    /// Performs `import`: it stores the items of an export again.
    func importLetters() async throws -> ExitCode {
        guard operands.count == 1 else {
            throw words.misuse("import takes one file, or - for stdin")
        }
        let bytes = try EventFile.read(operands[0], request.shell)
        var letters: [DeadLetterMessage] = []
        for (number, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty {
            guard let parsed = DeadLetterMessage(parsing: Array(line)) else {
                throw input.error(
                    .refused,
                    "line \(number + 1) is none of an export",
                    advice: "nothing was imported; hand in a file that export has written",
                    about: operands[0]
                )
            }
            letters.append(parsed)
        }
        let `operator` = try actingOperator()
        let cutoff = try await operations.cutoff()
        let result = try await operations.importLetters(letters, cutoff, by: `operator`)
        answer(
            result.json,
            lines: ["Imported \(result.added.of("item")); \(result.known.grouped) were there already."]
                + (result.tooOld > 0 ? [operations.tooOld(result.tooOld, cutoff)] : [])
        )
        return result.added + result.known == 0 && result.tooOld > 0 ? .answerIsNo : .done
    }
}
