import BellhopRules
import CLI
import Operations
import ServiceRuntime
import Settings
import Store

/// The texts for people.
extension FanoutAnswer {
    private var record: FanoutRecord { progress.record }
    private var asOf: Timestamp { progress.asOf }

    /// Returns the table of a list.
    ///
    /// In a terminal that is too narrow for it, the numbers of users are shorter, and the columns that `show` repeats
    /// are left out.
    static func table(_ views: [FanoutAnswer], fitting width: Int?) -> [String] {
        let lines = table(views.map { $0.cells(users: $0.share) }).lines()
        guard let width, lines.contains(where: { $0.count > width }) else { return lines }
        return table(views.map { $0.cells(users: $0.shortShare) }).lines(fitting: width)
    }

    private static func table(_ rows: [[String]]) -> TextTable {
        TextTable(
            ["fan-out", "state", "app", "type", "to", "users", "per second", "left", "begun"],
            texts: [1, 2, 3, 4, 7, 8],
            flexible: [4, 3, 2],
            optional: [6, 8, 7],
            rows: rows
        )
    }

    private func cells(users: String) -> [String] {
        [
            String(record.number), state, HumanText.cut(record.app, to: 16), HumanText.cut(record.type, to: 24),
            HumanText.cut(audience, to: 28), users, rateWords ?? "-", timeLeft ?? "-",
            HumanText.ago(record.startedAt, asOf),
        ]
    }

    /// One line about the progress, for an overview.
    var line: String {
        let parts = [
            share, rateWords.map { "\($0)/s" }, timeLeft.map { "\($0) left" },
            isUnattended ? "no worker runs" : interruption.map { "no page complete for \($0.roughly)" },
        ].compactMap { $0 }
        return parts.joined(separator: ", ")
    }

    /// All details, as lines.
    var lines: [String] {
        var text = WrappedText()
        text.add("", "Fan-out \(record.number): event \(record.event) of \(record.app)")
        for (label, words) in facts { text.add(label, width: Self.label, words) }
        for obstacle in obstacles ?? [] { text.add("waits", width: Self.label, obstacle) }
        guard let detail else { return text.lines }
        if !detail.pages.isEmpty {
            text.section("Its pages that are not finished")
            for page in detail.pages { text.item("page \(page.number): \(words(page))") }
        }
        if !detail.acts.isEmpty {
            text.section("What operators did")
            for act in detail.acts {
                text.item("\(HumanText.instant(act.at)) \(act.operator): \(words(act)), \(act.because)")
            }
        }
        return text.lines
    }

    private static let label = 10

    private var facts: [(String, String)] {
        let counts = record.progress
        var facts = [
            ("state", state), ("type", record.type), ("to", audience),
            ("lane", record.priority.lane.rawValue),
            ("users", "\(share)\(onPages), \(counts.recorded.of("new notification"))\(inApp)"),
            (
                "pushes",
                results.map { results in
                    results.text(isHeld: isHeld == true, hasWorker: hasWorker)
                        + (results.isComplete ? "" : "; list-users counts all") + now
                } ?? due
            ),
            ("pages", pages),
        ]
        if let everyone { facts.insert(("everyone", everyone.text), at: 3) }
        if isUnattended { facts.append(("rate", "none: no worker runs")) }
        if let interruption { facts.append(("rate", "none: no page was completed for \(interruption.roughly)")) }
        if let rateWords {
            facts.append(("rate", "\(rateWords) users per second" + (timeLeft.map { ", \($0) left" } ?? "")))
        }
        facts.append(("begun", moment(record.startedAt)))
        if let workedAt = counts.workedAt { facts.append(("last page", moment(workedAt))) }
        if let pausedAt = record.pausedAt { facts.append(("paused", moment(pausedAt))) }
        if let end = record.finishedAt { facts.append(("ended", moment(end))) }
        return facts
    }

    /// The pages that the count of users includes: a fan-out counts a page when it is complete, and a cancelled one may
    /// leave incomplete pages.
    private var onPages: String { record.state == .finished ? "" : " on complete pages" }

    /// The users with a record, if they are more than the complete pages have counted.
    private var inApp: String {
        guard let results, results.users > record.progress.recorded else { return "" }
        let least = results.isComplete ? "" : "at least "
        return "; \(least)\(results.users.of("user has", "users have")) its notification in the app"
    }

    /// The pages that the count of pushes includes, which differ from those of the users until the fan-out is finished.
    private var now: String {
        record.finishedAt == nil || openPages > 0 ? "; with the pages in progress" : ""
    }

    private var openPages: Int { detail?.pages.count ?? 0 }

    /// The deliveries that were released directly after they were recorded, whether or not they have been sent since.
    private var due: String {
        record.progress.sent.of("delivery", "deliveries") + " due immediately when recorded"
    }

    private var pages: String {
        let (done, planned) = (record.progress.pages.grouped, record.progress.planned.grouped)
        guard record.finishedAt != nil else { return "\(done) complete of \(planned) planned so far" }
        return "\(done) complete" + (openPages > 0 ? ", \(openPages.grouped) in progress" : "")
    }

    private var state: String {
        let isHeld = isHeld == true
        let words = [
            record.state.rawValue, progress.isStalled ? "stalled" : nil, isHeld ? "held" : nil,
            waits == true && !isHeld ? "pushes wait" : nil, results?.failureWords,
        ]
        return words.compactMap { $0 }.joined(separator: ", ")
    }

    private var audience: String { record.topic ?? "everyone" }

    /// The progress as `12,000 of about 40,000`.
    private var share: String {
        let users = record.progress.users.grouped
        guard record.finishedAt == nil else { return users }
        guard !progress.leftIsCapped else { return "\(users), more than \(progress.left.grouped) left" }
        return "\(users) of about \((record.progress.users + progress.left).grouped)"
    }

    /// The progress as `12,000 of ~40,000`.
    private var shortShare: String {
        share.replacing(" of about ", with: " of ~").replacing(", more than ", with: ", >")
    }

    private var rateWords: String? {
        rate.map { rate in
            rate >= 10 ? Int(clamping: Int64(min(rate, 1e12))).grouped : rate.text(digits: 1)
        }
    }

    private var timeLeft: String? {
        secondsLeft.map { Duration.seconds(Int64(min($0, 1e12))).roughly }
    }

    private func moment(_ moment: Timestamp) -> String {
        "\(HumanText.instant(moment)) (\(HumanText.ago(moment, asOf)))"
    }

    private func words(_ page: FanoutDetail.Page) -> String {
        if let takenAt = page.takenAt { return "taken by a worker \(HumanText.ago(takenAt, asOf))" }
        return page.handedOverAt.map { "queued for the workers \(HumanText.ago($0, asOf))" } ?? "not queued yet"
    }

    private func words(_ act: FanoutDetail.Done) -> String {
        guard let discarded = act.discarded else { return String(act.act.dropFirst(7)) }
        let what = "discarded " + discarded.of("held delivery", "held deliveries")
        return act.isWider ? "\(what), maybe of others, too" : what
    }
}
