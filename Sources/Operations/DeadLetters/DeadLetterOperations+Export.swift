package import BellhopJSON
import BellhopRules
import ServiceRuntime
package import Store

/// The result of an import.
package struct DeadLetterImport: Sendable {
    package let added: Int
    /// The number of items that existed already.
    package let known: Int
    /// The number of items that are too old to be imported.
    package let tooOld: Int

    package var json: JSONValue {
        .members([("items", .int(added)), ("known", .int(known)), ("tooOld", .int(tooOld))])
    }
}

extension DeadLetterOperations {
    private static let pageSize = 200

    /// Returns the filter of an export, and the number of its items.
    ///
    /// Items that are filed later are not exported.
    package func previewExport(_ input: DeadLetterInput) async throws -> (filter: DeadLetterFilter, items: Int) {
        var filter = try await filter(input)
        let count = try await store.count(filter)
        guard count.items > 0 else {
            let advice = "bellhop dead-letters groups shows all items"
            throw input.error(.notPossible, "no items match", advice: advice)
        }
        filter.filedBy = count.asOf
        return (filter, count.items)
    }

    /// Passes all items of a filter to `write`, page by page, until it returns `false`, and returns their ids.
    ///
    /// The items include personal data, so the audit records the export first: an export that cannot be audited must
    /// not take place.
    package func export(
        _ filter: DeadLetterFilter,
        items: Int,
        by operator: ActingOperator,
        _ write: ([DeadLetterMessage]) throws -> Bool
    ) async throws -> [String] {
        try await store.audit(.export, filter, items: items, by: `operator`)
        var written: [String] = []
        while true {
            let page = try await store.messages(filter, after: written.last ?? "", atMost: Self.pageSize)
            guard !page.isEmpty, try write(page) else { return written }
            written += page.map(\.summary.deadID)
        }
    }

    /// Marks items as exported to a complete file; retention depends on this mark.
    package func markExported(_ ids: [String]) async throws {
        for start in stride(from: 0, to: ids.count, by: Self.pageSize) {
            try await store.markExported(Array(ids[start..<min(start + Self.pageSize, ids.count)]))
        }
    }

    /// Stores the items of an export again.
    ///
    /// Older items are rejected, since the tombstones of users that were erased in the meantime may be deleted.
    package func importLetters(
        _ letters: [DeadLetterMessage],
        _ cutoff: ReplayCutoff,
        by operator: ActingOperator
    ) async throws -> DeadLetterImport {
        let young = letters.filter { $0.summary.firstFailedAt >= cutoff.earliest }
        // Before anything is stored, since an import that cannot be audited must not take place.
        try await store.audit(.import, DeadLetterFilter(), items: young.count, by: `operator`)
        var added = 0
        for start in stride(from: 0, to: young.count, by: Self.pageSize) {
            let page = Array(young[start..<min(start + Self.pageSize, young.count)])
            added += try await store.bringIn(page, by: `operator`)
        }
        return DeadLetterImport(added: added, known: young.count - added, tooOld: letters.count - young.count)
    }
}
