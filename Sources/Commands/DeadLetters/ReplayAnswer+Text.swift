import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

extension ReplayAnswer {
    private var replay: ReplayRecord { progress.replay }

    /// A progress bar on one line.
    var bar: String {
        let width = 24
        // The unsent items of a cancelled replay are settled without progress.
        let done = progress.settled - progress.left
        let filled = replay.items > 0 ? min(width, done * width / replay.items) : width
        let cells = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let share = replay.items > 0 ? done * 100 / replay.items : 100
        var parts = ["replay \(replay.id)  \(cells)  \(share) %  \(done.grouped) of \(replay.items.grouped)"]
        if progress.left > 0 { parts.append("\(progress.left.grouped) left unsent") }
        let failures = progress.outcomes.filter { $0.key.isFailure }.values.reduce(0, +)
        if failures > 0 { parts.append("\(failures.grouped) failed") }
        if progress.underWay > 0 { parts.append("\(progress.underWay.grouped) under way") }
        if let start = replay.scheduledStart(at: now) { parts.append("starts \(HumanText.ahead(start, now))") }
        if let left = timeLeft { parts.append("about \(left.roughly) left") }
        if let standstill { parts.append("nothing settled for \(standstill.roughly)") }
        return parts.joined(separator: " · ")
    }

    var lines: [String] {
        var state = replay.state.rawValue
        if let reason = replay.pauseReason, replay.state == .paused { state += ", \(reason)" }
        if replay.state == .cancelled {
            let sent = replay.items - progress.left
            state += ", \(sent.grouped) replayed, \(progress.left.grouped) left unsent and open again"
            if replay.finishedAt == nil { state += ", what has gone out comes to its end" }
        }
        let start = replay.scheduledStart(at: now)
        if let start { state = "scheduled, starts at \(HumanText.instant(start)) (\(HumanText.ahead(start, now)))" }
        var lines = [
            "Replay \(replay.id) of \(replay.items.of("item")) by \(replay.operator), \(start == nil ? "begun" : "created") "
                + "\(HumanText.instant(replay.startedAt)): \(state)"
        ]
        var table = TextTable(["outcome", "items"])
        if progress.waiting > 0 { table.add(["  waiting", progress.waiting.grouped]) }
        if progress.underWay > 0 { table.add(["  in flight", progress.underWay.grouped]) }
        for outcome in ReplayOutcome.allCases {
            guard let count = progress.outcomes[outcome] else { continue }
            let reached = outcome == .fannedOut ? reach.map { ", \($0.words)" } ?? "" : ""
            table.add(["  \(outcome.words)\(reached)", count.grouped])
        }
        lines += table.lines().dropFirst()
        for part in unsent {
            let why = [part.outcome.rawValue.replacing("-", with: " "), part.reason].compactMap { $0 }
            let others = part.count > part.items.count ? ", …" : ""
            let items = part.items.joined(separator: ", ") + others
            lines.append("Not sent, \(why.joined(separator: ", ")): \(part.count.grouped) (\(items))")
        }
        lines += deferred.map { $0.words + "." }
        if let standstill {
            lines.append("Nothing was settled for \(standstill.roughly).\(obstacle.map { " " + $0 } ?? "")")
        }
        // Without failures, or within a short time, the table is sufficient.
        if course.failed.contains(where: { $0 > 0 }), progress.settled > 1 {
            let end = replay.finishedAt ?? now
            let span = Duration.microseconds(max(0, end.microseconds - replay.startedAt.microseconds))
            lines.append(span < .seconds(1) ? "All within 1 s:" : "Over \(span.roughly):")
            lines.append("  settled  \(HumanText.sparkline(course.settled))")
            lines.append("  failed   \(HumanText.sparkline(course.failed))")
        }
        if replay.finishedAt == nil, let rate = replay.pace.rate {
            lines.append("It sends at most \(rate.of("item")) per second.")
        }
        if replay.state == .paused, let begin = replay.pace.notBefore, begin > now {
            lines.append("Resumed before, it sends from \(HumanText.instant(begin)) on.")
        }
        if !failures.isEmpty { lines.append("Most recent failures; details: bellhop dead-letters show ITEM") }
        for failure in failures {
            lines.append("  \(failure.deadID)  \(failure.reason): \(HumanText.cut(failure.error, to: 200))")
        }
        if replay.state == .paused {
            lines.append("bellhop dead-letters resume \(replay.id) continues it, cancel \(replay.id) reopens the rest.")
        }
        return lines
    }
}

extension ReplayOutcome {
    /// The outcome, with its consequence if that is not obvious.
    fileprivate var words: String {
        switch self {
        case .retrying: "retrying: failed again, retried automatically"
        case .refused: "refused: the provider rejects our settings, retried automatically"
        case .deferred: "deferred: waits in the ledger, for the reason below"
        case .failed: "failed: died again, open again"
        case .stillOwed: "still owed: was about to be sent anyway"
        case .tooOld: "too old by now: its notification may have been deleted, so it could be sent twice; open again"
        case .cancelled: "cancelled before its turn, open again"
        default: rawValue.replacing("-", with: " ")
        }
    }
}
