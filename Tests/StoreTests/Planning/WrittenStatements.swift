import Foundation
import TestSupport

/// The statements in the sources of `Store` that workers or schedulers run.
enum WrittenStatements {
    struct Written: Sendable {
        let file: String
        /// The text between the interpolations.
        let fragments: [String]

        /// Returns whether `sql` is an instance of this statement.
        func matches(_ sql: String) -> Bool {
            var rest = sql[...]
            for fragment in fragments {
                guard let place = rest.range(of: fragment) else { return false }
                rest = rest[place.upperBound...]
            }
            return true
        }
    }

    /// Files and folders whose statements are excluded.
    ///
    /// Only operators' commands, migrations and the API run them, with separate plans. `Live` notifies open pages:
    /// its one table has a row per process that serves such pages. `Outbox` is a table of another database.
    private static let forOperators: Set<String> = [
        "Users", "Live", "Outbox", "Schema", "Status", "Explain", "Topology", "ReplayAdmin+Ledger.swift",
        "ReplayAdmin.swift", "History", "ReplayRecord.swift", "DeferredReplayItems.swift", "DeadLetterAdmin.swift",
        "DeadLetterAdmin+Acts.swift",
        "DeadLetterAdmin+Editing.swift",
        "DeadLetterFilter.swift", "DeadLetterSummary.swift", "DeadLetterComposition.swift", "FanoutAdmin.swift",
        "FanoutUser.swift", "AudienceSize.swift", "HoldAdmin.swift", "HoldAdmin+Discarding.swift",
        "HoldAdmin+Deferred.swift",
        "RetryAdmin.swift", "WaitingBacklog.swift", "BreakerAdmin.swift", "CommonSilence.swift",
    ]

    static func all() throws -> [Written] {
        let store = Checkout.file("Sources/Store")
        guard let files = FileManager.default.enumerator(at: store, includingPropertiesForKeys: nil) else { return [] }
        var written: [Written] = []
        for case let file as URL in files where file.pathExtension == "swift" {
            guard forOperators.isDisjoint(with: file.pathComponents) else { continue }
            let source = try String(contentsOf: file, encoding: .utf8)
            for sql in literals(in: source) {
                written.append(Written(file: file.lastPathComponent, fragments: fragments(of: sql)))
            }
        }
        return written
    }

    /// Returns the literals that begin with an SQL verb.
    private static func literals(in source: String) -> [Substring] {
        var found: [Substring] = []
        for (start, end) in [("\"\"\"", "\"\"\""), ("\"", "\"")] {
            var rest = source[...]
            while let opening = rest.range(of: start) {
                rest = rest[opening.upperBound...]
                guard let closing = rest.range(of: end) else { break }
                let literal = rest[..<closing.lowerBound]
                let isWhole = start.count == 3 || !literal.contains("\n")
                if isWhole, isStatement(literal) { found.append(literal) }
                rest = rest[(isWhole ? closing.upperBound : opening.upperBound)...]
            }
        }
        return found
    }

    private static func isStatement(_ literal: Substring) -> Bool {
        let text = literal.drop { $0.isWhitespace || $0 == "(" }
        return ["SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "WITH "].contains { text.hasPrefix($0) }
    }

    private static func fragments(of literal: Substring) -> [String] {
        var fragments: [String] = []
        var text = ""
        var rest = literal
        while let character = rest.popFirst() {
            guard character == "\\", rest.first == "(" else {
                text.append(character)
                continue
            }
            fragments.append(text.normalised)
            text = ""
            skipInterpolation(&rest)
        }
        fragments.append(text.normalised)
        return fragments.filter { !$0.isEmpty }
    }

    /// Skips the text from an opening parenthesis to the matching closing one.
    private static func skipInterpolation(_ rest: inout Substring) {
        var depth = 0
        while let character = rest.popFirst() {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth == 0 { return }
        }
    }
}
