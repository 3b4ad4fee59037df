import BellhopRules
import ServiceRuntime
import Store

extension DeskSession {
    /// `groups`: what is wrong, the largest first.
    func groups() async throws -> ExitCode {
        try expectNoItems()
        let filter = try DeadLetterFilter(words, now: now)
        let found = try await desk.groups(filter)
        guard !isJSON else {
            print(found.json.description)
            return found.items == 0 ? .answerIsNo : .done
        }
        guard found.items > 0 else {
            print("No items match.")
            return .answerIsNo
        }
        print("\(found.items.of("item")) in \(found.count.of("group")), \(DeskText.instant(found.asOf))")
        print("")
        var table = TextTable(
            ["group", "items", "users", "first", "last", "last 24 hours", "reason"],
            texts: [3, 4, 5, 6]
        )
        for group in found.groups {
            table.add([
                group.fingerprint, group.items.grouped, group.users.grouped, DeskText.ago(group.firstSeen, found.asOf),
                DeskText.ago(group.lastSeen, found.asOf), DeskText.sparkline(group.lastDay), group.cause.reason,
            ])
        }
        for (line, group) in zip(table.lines(), [nil] + found.groups.map(Optional.some)) {
            print(line)
            if let group { print("    " + DeskText.cut(group.latestWords, to: 92)) }
        }
        if found.groups.count < found.count {
            print("The \(found.groups.count) largest groups of \(found.count.grouped); a filter shows others.")
        }
        return .done
    }
}

extension DeadLetterGroup {
    /// Where the latest item was given up, and its error.
    fileprivate var latestWords: String {
        let place = [cause.provider, cause.app, cause.eventType].compactMap { $0 }.joined(separator: " ")
        return "\(cause.stage.rawValue)\(place.isEmpty ? "" : " " + place): \(cause.error)"
    }

    fileprivate var json: JSONText {
        .object([
            ("fingerprint", .text(fingerprint)), ("items", .number(items)), ("users", .number(users)),
            ("firstSeenAt", .text(firstSeen.description)), ("lastSeenAt", .text(lastSeen.description)),
            ("stage", .text(cause.stage.rawValue)), ("reason", .text(cause.reason)),
            ("provider", .optional(cause.provider)), ("app", .optional(cause.app)),
            ("eventType", .optional(cause.eventType)), ("latestError", .text(cause.error)),
            ("lastDay", .list(lastDay.map(JSONText.number))),
        ])
    }
}

extension DeadLetterGroups {
    fileprivate var json: JSONText {
        .object([
            ("asOf", .text(asOf.description)), ("items", .number(items)), ("groupCount", .number(count)),
            ("groups", .list(groups.map(\.json))),
        ])
    }
}
