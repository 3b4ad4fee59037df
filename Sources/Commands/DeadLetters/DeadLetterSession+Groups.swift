import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension DeadLetterSession {
    /// Performs `groups`: it lists the groups of dead letters, the largest first.
    func groups() async throws -> ExitCode {
        let emphasis = DeadLetterGroups.emphasis
        if words.has("watch") {
            try await request.call.watch(
                { try await operations.groups(input).lines(fitting: width) },
                emphasis: emphasis
            )
        }
        let found = try await operations.groups(input)
        answer(found.json, lines: found.lines(fitting: width), emphasis: emphasis)
        return found.items == 0 ? .answerIsNo : .done
    }
}

extension DeadLetterGroups {
    static func emphasis(_ index: Int, _ line: String) -> LineStyle {
        index == 2 ? .heading : line.hasPrefix("    ") ? .faint : .plain
    }

    /// Returns each group as a line of a table, with its latest error below.
    ///
    /// The error is cut to the terminal's width; a pipe or a file gets all of it.
    func lines(fitting width: Int?) -> [String] {
        guard items > 0 else { return ["No items match."] }
        var table = TextTable(
            ["group", "items", "users", "first", "last", "last 24 hours", "reason"],
            texts: [3, 4, 5, 6],
            optional: [5, 3]
        )
        for group in groups {
            table.add([
                group.fingerprint, group.items.grouped, group.users.grouped, HumanText.ago(group.firstSeen, asOf),
                HumanText.ago(group.lastSeen, asOf), HumanText.sparkline(group.lastDay), group.cause.reason,
            ])
        }
        var lines = ["\(items.of("item")) in \(count.of("group")), \(HumanText.instant(asOf))", ""]
        for (line, group) in zip(table.lines(fitting: width), [nil] + groups.map(Optional.some)) {
            lines.append(line)
            if let group { lines.append("    " + HumanText.cut(group.latestWords, to: (width ?? .max) - 4)) }
        }
        if groups.count < count {
            lines.append("The \(groups.count) largest groups of \(count.grouped); a filter shows others.")
        }
        return lines
    }
}

extension DeadLetterGroup {
    /// The stage at which the latest item was given up, and its error.
    fileprivate var latestWords: String {
        // A corrected copy that waits has failed at no stage.
        let stage = cause.stage == .desk ? nil : cause.stage.rawValue
        let latest = [cause.app, cause.eventType].compactMap { $0 }.joined(separator: " ")
        let kinds = composition.places.map { "of \($0); the latest," }
        let place = [stage, cause.provider, kinds].compactMap { $0 }
        let words = (place + [latest]).filter { !$0.isEmpty }.joined(separator: " ")
        return words.isEmpty ? cause.error : "\(words): \(cause.error)"
    }
}
