import BellhopJSON
import BellhopRules
import Pipeline
import ServiceRuntime
import Store

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

    private var processes: [LiveProcess] { database.value?.store?.processes ?? [] }

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

    /// The advice for a topology that differs from this shell's catalogues.
    ///
    /// If the workers have newer catalogues, applying the topology from here would unbind their new types.
    var topologyAdvice: String {
        let others = standing.filter { $0.catalogs != catalogs }
        guard let catalogs, let first = others.first else { return "run bellhop topology apply" }
        let waiting = processes.map(\.report).first { report in
            !report.isDraining && report.catalogs != catalogs
                && report.refusal?.contains(CatalogReload.applyFirst) == true
        }
        if let who = waiting?.identity {
            let place = "\(who.role) \(who.host)[\(who.process)]"
            return "\(place) waits for it with newer catalogues: where this shell has them, "
                + "too, run \(CatalogReload.applyFirst)"
        }
        let have = others.count > 1 ? " and others have" : " has"
        let theirs = "\(first.role) \(first.places)\(have) \(first.catalogs)"
        return "this shell's catalogues are \(catalogs), and \(theirs): if yours are the new ones, run "
            + "\(CatalogReload.applyFirst) to all processes; otherwise deploy the running files here, and do not run "
            + "topology apply"
    }

    /// Processes that have stopped their heartbeats without an orderly end.
    var silentProcesses: [String] {
        (database.value?.store?.silentProcesses ?? []).prefix(Self.hindrances).map { seen in
            let own = seen.report.identity
            let silence = max(.zero, time - Instant(microseconds: seen.seenAt.microseconds)).roughly
            return "\(own.role) \(own.host)[\(own.process)] has sent no heartbeat for \(silence): it hangs, its host "
                + "does, or it was killed; if it still runs, end it, and other processes take its work"
        }
    }

    var processProblems: [String] {
        var problems: [String] = []
        let known = Set(standing.map(\.catalogs))
        if known.count > 1 {
            let each = standing.map { "\($0.count.of($0.role)) with \($0.catalogs) (\($0.places))" }
            problems.append(
                "processes use different catalogues: \(each.joined(separator: "; ")); SIGHUP those with older files"
            )
        }
        let versions = Set(standing.map(\.version)).sorted()
        if versions.count > 1 {
            problems.append("versions \(versions.joined(separator: " and ")) run side by side: end the older ones")
        }
        problems += processes.filter { !$0.report.isDraining }.compactMap { seen in
            let own = seen.report.identity
            return seen.report.hindrance.map { "\(own.role) \(own.host)[\(own.process)] is not ready: \($0)" }
        }
        .prefix(Self.hindrances)
        let refused = processes.filter { !$0.report.isDraining }.compactMap { seen in
            seen.report.refusal.map { (seen.report.identity, $0) }
        }
        if let (who, why) = refused.first {
            let others = refused.count > 1 ? " and \((refused.count - 1).of("other")) have" : " has"
            problems.append(
                "\(who.role) \(who.host)[\(who.process)]\(others) refused the new catalogues, the old ones serve: \(why)"
            )
        }
        return problems
    }

    /// The limit of reported obstacles.
    ///
    /// Further ones give no new information.
    private static let hindrances = 5

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
                    + "--app \(trouble.app) --provider \(trouble.provider) tells how it stands"
            }
            let since = max(.zero, time - Instant(microseconds: trouble.since.microseconds)).roughly
            return "\(trouble.provider) answers \(trouble.word) to all of \(trouble.app)'s \(what) for \(since), "
                + "\(times): what has attempts left is tried again; see the provider's own status"
        }
    }

    /// An older answer of a provider may no longer describe its present state.
    private static let fresh = Duration.seconds(60)

    /// The failures of all workers together, with the time since which no worker got another answer.
    ///
    /// A success of any worker ends or shortens a streak. A provider that works again, or that fails for some workers
    /// only, is therefore not listed.
    var troubles: [ProviderOutage] {
        let takings = Dictionary(grouping: processes.flatMap(\.report.takings)) { [$0.app, $0.provider] }
        let grouped = Dictionary(grouping: processes.flatMap(\.report.troubles)) { [$0.app, $0.provider] }
        return grouped.compactMap { outlet, all -> ProviderOutage? in
            let taken = takings[outlet]?.map(\.at).max()
            let standing = all.filter { trouble in taken.map { $0 < trouble.latest } ?? true }
            guard let first = standing.min(by: { $0.since < $1.since }),
                let last = standing.max(by: { $0.latest < $1.latest })
            else { return nil }
            let whole = ProviderOutage(
                app: first.app,
                provider: first.provider,
                word: last.word,
                since: taken.map { max($0, first.since) } ?? first.since,
                latest: last.latest,
                answers: standing.map(\.answers).reduce(0, +)
            )
            let age = time - Instant(microseconds: whole.since.microseconds)
            return age >= Self.worthAWord ? whole : nil
        }
        .sorted { ($0.app, $0.provider) < ($1.app, $1.provider) }
    }

    /// Shorter failures are not reported.
    private static let worthAWord = Duration.seconds(10)

    /// Returns the deliveries per second that all workers pull from a backlog, or `nil` if no process reports.
    package func pace(of backlog: String) -> Int? {
        processes.isEmpty ? nil : processes.compactMap { $0.report.pulls[backlog] }.reduce(0, +)
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
                ])
            }
        )
    }
}
