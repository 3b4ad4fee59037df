import BellhopRules
import ServiceRuntime
import Store

extension DeadLetterSession {
    /// Performs `export`: it writes all items that match the filter as JSON lines.
    ///
    /// They include personal data, so the export is recorded in the audit.
    func export() async throws -> ExitCode {
        var filter = try await filter()
        let count = try await desk.count(filter)
        guard count.items > 0 else {
            throw failure(.answerIsNo, "no items match", "bellhop dead-letters groups shows what there is", "items")
        }
        filter.filedBy = count.asOf
        let file = try ExportFile(path: words.value("output"), else: request.shell.output)
        // Before anything is written, since an export that cannot be audited must not take place.
        try await desk.audit("export", filter, items: count.items, by: try actingOperator())
        var last = ""
        var written: [String] = []
        while file.isWanted {
            let page = try await desk.messages(filter, after: last, atMost: 200)
            guard let end = page.last else { break }
            last = end.summary.deadID
            try file.write(page.map(\.json.written))
            written += page.map(\.summary.deadID)
        }
        try file.close()
        if let path = words.value("output") {
            // Only items in a complete file count as exported, since retention depends on this mark.
            for start in stride(from: 0, to: written.count, by: 200) {
                try await desk.markExported(Array(written[start..<min(start + 200, written.count)]))
            }
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
                throw failure(
                    .badInput,
                    "line \(number + 1) is none of an export",
                    "nothing was imported; hand in a file that export has written",
                    operands[0]
                )
            }
            letters.append(parsed)
        }
        let `operator` = try actingOperator()
        // Older items are rejected, since the tombstones of users that were erased in the meantime may be deleted.
        let cutoff = try await cutoff()
        let young = letters.filter { $0.summary.firstFailedAt >= cutoff.earliest }
        // Before anything is stored, since an import that cannot be audited must not take place.
        try await desk.audit("import", DeadLetterFilter(), items: young.count, by: `operator`)
        var added = 0
        for start in stride(from: 0, to: young.count, by: 200) {
            let page = Array(young[start..<min(start + 200, young.count)])
            added += try await desk.bringIn(page, by: `operator`)
        }
        let (known, old) = (young.count - added, letters.count - young.count)
        answer(
            .members([("items", .int(added)), ("known", .int(known)), ("tooOld", .int(old))]),
            lines: ["Imported \(added.of("item")); \(known.grouped) were there already."]
                + (old > 0 ? [tooOld(old, cutoff)] : [])
        )
        return young.isEmpty && old > 0 ? .answerIsNo : .done
    }
}
