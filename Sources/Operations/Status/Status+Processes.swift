import BellhopJSON
import BellhopRules
import Pipeline
import ServiceRuntime
package import Store

/// Combines the reports of all processes.
extension Status {
    /// The processes of one role, version and set of catalogues, either running or draining.
    package struct Crew: Sendable, Equatable {
        let role: String
        let isDraining: Bool
        package let version: String
        package let catalogs: String
        package let count: Int
        /// Hosts and process ids, as many as fit on a line.
        package let places: String

        /// The title in the table.
        package var title: String { isDraining ? "\(role), draining" : role }
    }

    /// Returns host and process id of a process with this role that was seen in the last 30 seconds, or `nil` if there
    /// is none.
    func place(of role: String) -> String? {
        processes.first { $0.report.identity.role == role }.map { seen in
            "\(seen.report.identity.host)[\(seen.report.identity.process)]"
        }
    }

    var processes: [LiveProcess] { database.value?.store?.processes ?? [] }

    /// The groups of each role, the largest first.
    package var crews: [Crew] {
        let groups = Dictionary(grouping: processes.map(\.report)) { report in
            [report.identity.role, report.identity.version, report.catalogs, report.isDraining ? "draining" : ""]
        }
        return groups.map { key, reports in
            let places = Set(reports.map { "\($0.identity.host)[\($0.identity.process)]" }).sorted()
            let others = places.count > 3 ? ", …" : ""
            return Crew(
                role: key[0],
                isDraining: !key[3].isEmpty,
                version: key[1],
                catalogs: key[2],
                count: reports.count,
                places: places.prefix(3).joined(separator: ", ") + others
            )
        }
        .sorted { ($0.title, $1.count, $0.version, $0.catalogs) < ($1.title, $0.count, $1.version, $1.catalogs) }
    }

    /// The groups that are not draining.
    ///
    /// Draining processes need not match the others.
    private var standing: [Crew] { crews.filter { !$0.isDraining } }

    /// The advice for a topology that differs from the reader's catalogues.
    ///
    /// If the workers have newer catalogues, applying the topology with the reader's would unbind their new types.
    var topologyAdvice: String {
        let others = standing.filter { $0.catalogs != catalogs }
        guard let catalogs, let first = others.first else { return "run bellhop topology apply" }
        let waiting = processes.map(\.report).first { report in
            !report.isDraining && report.catalogs != catalogs
                && report.refusal?.contains(CatalogReload.applyFirst) == true
        }
        if let who = waiting?.identity {
            let place = "\(who.role) \(who.host)[\(who.process)]"
            let shell = reader == .shell ? "where this shell has them, too" : "in a shell that has them, too"
            return "\(place) waits for it with newer catalogues: \(shell), run \(CatalogReload.applyFirst)"
        }
        let have = others.count > 1 ? " and others have" : " has"
        let theirs = "\(first.role) \(first.places)\(have) \(first.catalogs)"
        return "\(reader.rawValue)'s catalogues are \(catalogs), and \(theirs): if \(readersOwn) are the new ones, run "
            + "\(CatalogReload.applyFirst) to all processes; otherwise deploy the running files \(readersPlace), and do "
            + "not run topology apply"
    }

    private var readersOwn: String { reader == .shell ? "yours" : "the console's" }

    /// The console reads its files at each look, without a reload.
    private var readersPlace: String { reader == .shell ? "here" : "to the console" }

    /// The difference between the catalogues of the reader and of all processes, such as after a forgotten SIGHUP.
    ///
    /// If a process refused its files, or if the topology differs, the problem about that has the advice.
    private var readerDifference: String? {
        let refuses = processes.contains { $0.report.refusal != nil }
        guard let catalogs, let used = standing.first?.catalogs, standing.allSatisfy({ $0.catalogs == used }),
            used != catalogs, !refuses, topologyDifferences?.isEmpty ?? true
        else { return nil }
        return "\(reader.rawValue)'s catalogues are \(catalogs), and all processes use \(used): if \(readersOwn) are "
            + "the new ones, SIGHUP all processes; otherwise deploy the running files \(readersPlace)"
    }

    var processProblems: [String] {
        var problems = Array(replacements.prefix(Self.hindrances))
        let known = Set(standing.map(\.catalogs))
        if known.count > 1 {
            let each = standing.map { "\($0.count.of($0.role)) with \($0.catalogs) (\($0.places))" }
            problems.append(
                "processes use different catalogues: \(each.joined(separator: "; ")); SIGHUP those with older files"
            )
        }
        if let readerDifference { problems.append(readerDifference) }
        let versions = Set(standing.map(\.version)).sorted()
        if versions.count > 1 {
            problems.append("versions \(versions.joined(separator: " and ")) run side by side: end the older ones")
        }
        problems += processes.filter { !$0.report.isDraining }.compactMap { seen in
            let own = seen.report.identity
            let age = max(.zero, time - Instant(microseconds: seen.seenAt.microseconds))
            // A hung process stays as it was when it wrote its last heartbeat.
            let state =
                age < HeartbeatStore.commonSilence
                ? "is not ready" : "was not ready \(age.roughly) ago and has sent no heartbeat since"
            return seen.report.hindrance.map { "\(own.role) \(own.host)[\(own.process)] \(state): \($0)" }
        }
        .prefix(Self.hindrances)
        let refused = processes.filter { !$0.report.isDraining }.compactMap { seen in
            seen.report.refusal.map { (seen.report.identity, $0) }
        }
        if let (who, why) = refused.first {
            let others = refused.count > 1 ? " and \((refused.count - 1).of("other")) have" : " has"
            // The reader usually has the same files, and its problem contains the same fault.
            let isKnown = catalogObstacle.map { $0.hasPrefix(why) } ?? false
            let fault = isKnown ? ", for the same fault" : ": \(correction(of: why) ?? Self.firstFault(why))"
            problems.append(
                "\(who.role) \(who.host)[\(who.process)]\(others) refused the new catalogues, the old ones serve\(fault)"
            )
        }
        return problems
    }

    /// Returns the first fault of a refusal with the advice to load its correction, if the reader's files have no fault;
    /// `nil` otherwise.
    private func correction(of refusal: String) -> String? {
        guard catalogs != nil, !refusal.contains(CatalogReload.applyFirst) else { return nil }
        let lines = refusal.replacing(/; correct (?:it|them):/, with: ":").split(separator: "\n")
        let fault = lines.prefix(2).joined(separator: " ") + (lines.count > 2 ? " …" : "")
        return "\(fault). The files of \(reader.rawValue) have no fault: if they are the corrected ones, SIGHUP all "
            + "processes, see docs/runbooks/catalogues-refused.md"
    }

    /// Returns the first fault of a text with one per line, after its heading.
    static func firstFault(_ text: String) -> String {
        let lines = text.split(separator: "\n")
        guard lines.count > 2 else { return text }
        return "\(lines[0]) \(lines[1]) …; bellhop check-config shows all of it"
    }

    /// The limit of reported obstacles.
    ///
    /// Further ones give no new information.
    static let hindrances = 5

    /// Providers that fail every send, except those with an open breaker, which is reported separately.
    var failures: [String] {
        let open = Set((database.value?.store?.breakers ?? []).map { [$0.key.app.text, $0.key.provider] })
        return troubles.filter { !open.contains([$0.app, $0.provider]) }.map { trouble in
            let what = trouble.provider == CheckedProvider.email.rawValue ? "mails" : "pushes"
            let silence = time - Instant(microseconds: trouble.latest.microseconds)
            let times = trouble.answers.of("time")
            guard silence < Self.fresh else {
                let since = Duration.microseconds(max(0, trouble.latest.microseconds - trouble.since.microseconds))
                return "\(trouble.provider) answered \(trouble.word) to all of \(trouble.app)'s \(what) for "
                    + "\(since.roughly), \(times), and was asked for nothing since, \(silence.roughly): bellhop check-provider "
                    + "--app \(trouble.app) --provider \(trouble.provider) tells how it stands; see \(Self.failureRunbook)"
            }
            let since = max(.zero, time - Instant(microseconds: trouble.since.microseconds)).roughly
            return "\(trouble.provider) answers \(trouble.word) to all of \(trouble.app)'s \(what) for \(since), "
                + "\(times): \(retriesOf(trouble)); see \(Self.failureRunbook)"
        }
    }

    private static let failureRunbook = "docs/runbooks/provider-fails.md"

    /// Providers that reject each delivery of an app with responses that could concern single devices.
    ///
    /// Such responses open a breaker only if many users get them, so that a wrong setting of an app with few users is
    /// reported here alone.
    var rejections: [String] {
        let known = Set(troubles.map { [$0.app, $0.provider] })
        return
            outletsWithoutBreaker
            .filter {
                $0.state == .rejects && !$0.isEndingDevices && $0.rejected >= ProviderBoard.Row.manyRejections
                    && !known.contains([$0.app, $0.provider])
            }
            .map { row in
                "\(row.provider) rejects each of \(row.app)'s deliveries (\(row.word ?? "no reason"), "
                    + "\(Int(row.rejected.rounded()).grouped) per minute), because of our settings or of these devices: "
                    + "bellhop check-provider --app \(row.app) --provider \(row.provider) tells which"
            }
    }

    /// Providers that report most devices of an app as gone, which end.
    ///
    /// After an accepted push has closed the breaker of a mass failure, gone devices end in any number for ten minutes.
    var endingDevices: [String] {
        outletsWithoutBreaker
            .filter { [.accepts, .rejects].contains($0.state) && $0.isEndingDevices }
            .map { row in
                let hold = AppID(validating: row.app).flatMap { app in
                    database.value?.store?.holds.first { $0.scope.covers(app, provider: row.provider, type: nil) }
                }
                let act =
                    hold.map { "hold \($0.number) stops further pushes" }
                    ?? "if that is unexpected, stop it with bellhop hold add --app \(row.app) --provider \(row.provider)"
                return "\(row.provider) reports most of \(row.app)'s devices as gone, and they end "
                    + "(\(row.gone.grouped) of the last \(row.answers.grouped) answers): \(act); "
                    + "see docs/runbooks/provider-refuses.md"
            }
    }

    /// The outlets as the workers report them, except outlets with an open breaker, which is a separate problem.
    private var outletsWithoutBreaker: [ProviderBoard.Row] {
        let open = Set((database.value?.store?.breakers ?? []).map { [$0.key.app.text, $0.key.provider] })
        return ProviderBoard.rows(processes, at: Timestamp(clamping: time.microseconds))
            .filter { !open.contains([$0.app, $0.provider]) }
    }

    /// Returns what happens to the deliveries that a failing provider has not accepted.
    private func retriesOf(_ outage: ProviderOutage) -> String {
        let isOwn = { (retries: WaitingRetries) in
            retries.app == outage.app && retries.provider == outage.provider
        }
        let waiting = database.value?.store?.retries.first(where: isOwn)
        let limited = database.value?.store?.limited.first(where: isOwn)
        let pause = pauseWords(of: outage, limited) ?? limited.map(Self.limitWords)
        let parts = [pause, waiting.map(Self.wait)].compactMap { $0 }
        return parts.isEmpty ? "what has attempts left is tried again" : parts.joined(separator: "; ")
    }

    /// Returns the end of the pause that a provider has requested, and the number of deliveries that wait for it; `nil`
    /// without one.
    private func pauseWords(of outage: ProviderOutage, _ limited: WaitingRetries?) -> String? {
        guard let end = pauseEnd(of: outage.app, outage.provider) else { return nil }
        let backlogs = (database.value?.store?.backlogs ?? []).filter { backlog in
            OutletScope(backlog.name).map {
                $0.app.text == outage.app && $0.provider == outage.provider && $0.type == nil
            } ?? false
        }
        let count = backlogs.map(\.count).reduce(limited?.count ?? 0, +)
        let isCapped = limited?.isCapped == true || backlogs.contains { $0.count >= StoreStatus.most }
        let wait = (isCapped ? "at least " : "") + count.of("delivery waits", "deliveries wait")
        return "it has requested a pause until \(HumanText.clock(end)), and \(wait) for its end"
    }

    /// Returns the end of the pause that a provider has requested for an app's messages; `nil` without one.
    func pauseEnd(of app: String, _ provider: String) -> Timestamp? {
        processes.flatMap(\.report.activities).filter { $0.app == app && $0.provider == provider }
            .compactMap(\.pausedUntil).filter { $0.microseconds > time.microseconds }.max()
    }

    private static func limitWords(_ retries: WaitingRetries) -> String {
        let wait = (retries.isCapped ? "at least " : "") + retries.count.of("delivery waits", "deliveries wait")
        return "\(wait) as long as it has requested, the last until \(HumanText.clock(retries.lastDue))"
    }

    /// An older answer of a provider may no longer describe its present state.
    private static let fresh = Duration.seconds(60)

    /// The failures of all workers together, with the time since which no worker got another answer.
    var troubles: [ProviderOutage] {
        ProviderOutage.combined(of: processes, at: Timestamp(clamping: time.microseconds))
    }

    /// Providers that work again while deliveries that failed earlier still wait for their next attempt.
    var recoveries: [String] {
        let failing = Set(troubles.map { [$0.app, $0.provider] })
        let recovered = Set(
            processes.flatMap(\.report.takings).filter { $0.recoveredAt != nil }.map { [$0.app, $0.provider] }
        )
        return (database.value?.store?.retries ?? []).compactMap { retries in
            let outlet = [retries.app, retries.provider]
            guard recovered.contains(outlet), !failing.contains(outlet) else { return nil }
            let news = "\(retries.provider) accepts \(retries.app)'s deliveries again"
            let command = "bellhop retries bring-forward --app \(retries.app) --provider \(retries.provider)"
            return "\(news); \(Self.wait(retries)): the scheduler brings them forward, and so does \(command)"
        }
    }

    /// Returns `114 that failed wait for their next attempt, the last for 8 min`.
    private static func wait(_ retries: WaitingRetries) -> String {
        let count = (retries.isCapped ? "at least " : "") + retries.count.grouped
        let verb = retries.count == 1 ? "waits for its next attempt" : "wait for their next attempt"
        let last = retries.isCapped ? "some until after" : "the last until"
        return "\(count) that failed \(verb), \(last) \(HumanText.clock(retries.lastDue))"
    }

    /// Returns the deliveries per second that all workers pull from a backlog, or `nil` if it is unknown.
    ///
    /// It is unknown while a worker measures it, and if no worker has reported the backlog although nothing stops it.
    package func pace(of backlog: String) -> Int? {
        let isMeasured = !processes.contains { $0.report.measuring.contains(backlog) }
        guard isMeasured, !processes.isEmpty else { return nil }
        let rates = processes.compactMap { $0.report.pulls[backlog] }
        return rates.isEmpty && !isStopped(backlog) ? nil : rates.reduce(0, +)
    }

    /// Whether a hold or a breaker stops a backlog, or no worker runs.
    private func isStopped(_ backlog: String) -> Bool {
        guard let store = database.value?.store, let part = OutletScope(backlog) else { return false }
        return !processes.hasWorker || store.holds.contains { $0.scope.owns(part) }
            || store.breakers.contains { $0.key.blocks(part, store.holds) }
    }

    /// Returns the seconds until a backlog is empty at its present pace, or `nil` if it does not shrink or is too large
    /// to count.
    package func secondsLeft(of backlog: WaitingBacklog) -> Int? {
        guard backlog.count < StoreStatus.most, let pace = pace(of: backlog.name), pace > 0 else { return nil }
        return (backlog.count + pace - 1) / pace
    }

    var processesJSON: JSONValue {
        .array(
            processes.map { seen in
                let own = seen.report.identity
                return .members([
                    ("role", .string(own.role)), ("version", .string(own.version)), ("host", .string(own.host)),
                    ("process", .int(own.process)), ("catalogs", .string(seen.report.catalogs)),
                    ("refusal", .optional(seen.report.refusal)),
                    ("hindrance", .optional(seen.report.hindrance)),
                    ("drainingSince", .optional(seen.drainingSince?.description)),
                    ("startedAt", .string(seen.startedAt.description)),
                    ("seenAt", .string(seen.seenAt.description)), ("id", .string(own.id)),
                    (
                        "figures",
                        .members(
                            seen.report.figures.sorted { $0.key < $1.key }
                                .map { ($0.key, .array($0.value.map(JSONValue.int))) }
                        )
                    ),
                ])
            }
        )
    }

    var troublesJSON: JSONValue {
        .array(
            troubles.map { trouble in
                .members([
                    ("app", .string(trouble.app)), ("provider", .string(trouble.provider)),
                    ("word", .string(trouble.word)),
                    ("since", .string(trouble.since.description)), ("latestAt", .string(trouble.latest.description)),
                    ("answers", .int(trouble.answers)),
                    ("pausedUntil", .optional(pauseEnd(of: trouble.app, trouble.provider)?.description)),
                ])
            }
        )
    }
}
