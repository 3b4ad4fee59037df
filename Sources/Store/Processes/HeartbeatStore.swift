package import BellhopRules
package import Postgres

/// A process's report of its state.
package struct Heartbeat: Sendable, Equatable {
    /// The identity of the process, which does not change while it runs.
    package struct Identity: Sendable, Equatable {
        package let id: String
        package let role: String
        package let version: String
        package let host: String
        package let process: Int
        /// The schema for which the program was built.
        package var schema = Migration.all.schemaNumber
        /// The newest form of internal messages that the program reads.
        package var messages = 0
        /// The process that it replaces on its host, or `nil` if there is none.
        package var predecessor: Predecessor?

        package init(id: String, role: String, version: String, host: String, process: Int) {
            self.id = id
            self.role = role
            self.version = version
            self.host = host
            self.process = process
        }
    }

    /// The process whose place another one has taken.
    package struct Predecessor: Sendable, Equatable {
        package let process: Int
        /// When it was replaced because it hung, or `nil` if it did not hang.
        package let hungUntil: Timestamp?
        /// The processes that it had replaced itself; they are not stored.
        package var earlier: [Int] = []

        package init(process: Int, hungUntil: Timestamp?) {
            self.process = process
            self.hungUntil = hungUntil
        }
    }

    package let identity: Identity
    /// A fingerprint of the active catalogues.
    package var catalogs: String
    /// The reason for which the last reload was rejected.
    package var refusal: String?
    package var troubles: [ProviderOutage] = []
    /// Acceptances that refute other processes' troubles.
    package var takings: [ProviderSuccess] = []
    /// The outages that a scheduler has seen begin, with the time of the beginning, which restarted workers do not
    /// report.
    package var remembered: [ProviderOutage] = []
    /// The latest requests to each of the process's outlets.
    package var activities: [OutletActivity] = []
    /// The reason why it takes no messages; `nil` if there is none.
    package var hindrance: String?
    /// Whether it takes no new work and finishes its current work.
    package var isDraining = false
    /// The deliveries that it pulls per second, by backlog name.
    package var pulls: [String: Int] = [:]
    /// The names of backlogs that it has pulled from for too short a time to measure a rate.
    package var measuring: Set<String> = []
    /// Counters since its start; empty for a process without counters.
    package var figures: [String: [Int]] = [:]
    /// The numbers of the holds that a worker observes; `nil` for a process that sends nothing, or that does not report
    /// them.
    package var holds: [Int64]?
    /// The lanes that a worker serves; `nil` for another process, or for one that does not report them.
    package var lanes: [Lane]?

    package init(_ identity: Identity, catalogs: String) {
        self.identity = identity
        self.catalogs = catalogs
    }
}

/// A process as reported to others.
package struct LiveProcess: Sendable {
    package let report: Heartbeat
    package let startedAt: Timestamp
    package let seenAt: Timestamp
    /// When its drain began; `nil` if it does not drain.
    package let drainingSince: Timestamp?
}

extension [LiveProcess] {
    /// Whether one of them is a worker, which may drain and still sends.
    package var hasWorker: Bool { contains { $0.report.identity.role == "worker" } }
}

/// The table `processes`, with the heartbeat of each process.
package struct HeartbeatStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The maximum number of processes shown.
    package static let most = 1_000

    /// The time without a heartbeat of any process from which the cause is likely to be common, such as an outage of the
    /// database.
    ///
    /// It is longer than the interval of heartbeats and shorter than the time after which a process counts as silent.
    package static let commonSilence = Duration.seconds(15)

    /// Stores a process's heartbeat and report, and deletes processes without a heartbeat for five minutes.
    ///
    /// The processes that it has replaced were ended by its supervisor, and are deleted as well.
    ///
    /// The first heartbeat of all processes after ``commonSilence`` is marked as such, until the process ends.
    package func announce(_ report: Heartbeat) async throws(PostgresError) {
        let own = report.identity
        _ = try await pool.run(
            Self.announce,
            [
                .text(own.id), .text(own.role), .text(own.version), .text(own.host), .integer(Int64(own.process)),
                .text(report.catalogs), report.refusal.map { .text($0) } ?? .null, .json(report.troublesJSON),
                .json(report.pullsJSON), .integer(Int64(own.schema)), .integer(Int64(own.messages)),
                report.hindrance.map { .text($0) } ?? .null, .json(report.figuresJSON), .boolean(report.isDraining),
            ]
        )
        let replaced = own.predecessor.map { [$0.process] + $0.earlier } ?? []
        _ = try await pool.run(
            Self.forget,
            [.text(own.id), .text(own.role), .text(own.host), .integerArray(replaced.map(Int64.init))]
        )
    }

    /// Records that a process has just taken a message from a queue, and returns whether the process is known.
    package func hear(_ id: String) async throws(PostgresError) -> Bool {
        try await pool.run(Self.hear, [.text(id)]).count > 0
    }

    /// Deletes a process that exits.
    package func leave(_ id: String) async throws(PostgresError) {
        _ = try await pool.run(Self.leave, [.text(id)])
    }

    /// Returns the processes with a heartbeat in the last half minute, ordered by role, host and process id.
    package func all() async throws(PostgresError) -> [LiveProcess] {
        try await pool.run(Self.all, []).map(LiveProcess.init)
    }

    /// Returns the processes whose heartbeats have stopped within the last five minutes without an orderly end.
    package func silent() async throws(PostgresError) -> [LiveProcess] {
        try await pool.run(Self.silent, []).map(LiveProcess.init)
    }

    /// ``commonSilence`` for the database.
    static let interval = "interval '\(commonSilence.components.seconds) s'"

    private static let announce = Statement(
        """
        INSERT INTO processes AS p (id, role, version, host, process, catalogs, refusal, troubles, pulls,
                                    schema_version, message_version, hindrance, figures, draining_since)
        VALUES ($1, $2, $3, $4, $5::bigint, $6, $7, $8, $9, $10::bigint, $11::bigint, $12,
                $13::jsonb || CASE WHEN EXISTS (SELECT FROM processes)
                        AND NOT EXISTS (SELECT FROM processes WHERE seen_at > now() - \(interval))
                    THEN jsonb_build_object('\(Heartbeat.resumedKey)', jsonb_build_array(
                        (extract(epoch FROM now()) * 1000000)::bigint))
                    ELSE '{}' END,
                CASE WHEN $14 THEN now() END)
        ON CONFLICT (id) DO UPDATE SET catalogs = excluded.catalogs, refusal = excluded.refusal,
            troubles = excluded.troubles, pulls = excluded.pulls, hindrance = excluded.hindrance,
            figures = jsonb_strip_nulls(jsonb_build_object(
                '\(Heartbeat.resumedKey)', p.figures -> '\(Heartbeat.resumedKey)')) || excluded.figures,
            seen_at = now(),
            draining_since = coalesce(p.draining_since, excluded.draining_since)
        """
    )

    /// A process with the same process id that started later is another one.
    private static let forget = Statement(
        """
        DELETE FROM processes p
        WHERE p.seen_at < now() - \(interval)
          AND (p.seen_at < now() - interval '5 min'
               OR p.role = $2 AND p.host = $3 AND p.process = ANY ($4::bigint[])
               AND p.started_at < (SELECT o.started_at FROM processes o WHERE o.id = $1))
        """
    )

    private static let hear = Statement("UPDATE processes SET heard_at = now() WHERE id = $1 RETURNING id")

    private static let leave = Statement("DELETE FROM processes WHERE id = $1")

    static let columns = """
        id, role, version, host, process::bigint, catalogs, refusal, troubles, pulls, started_at, seen_at,
        schema_version::bigint, message_version::bigint, hindrance, figures, draining_since
        """

    /// The order of processes, which does not change with their heartbeats.
    static let order = "role, host, process, id"

    private static let all = Statement(
        """
        SELECT * FROM (
            SELECT \(columns) FROM processes WHERE seen_at > now() - interval '30 s' ORDER BY seen_at DESC LIMIT \(most)
        ) AS seen
        ORDER BY \(order)
        """,
        effect: .reads
    )

    private static let silent = Statement(
        """
        SELECT \(columns) FROM processes
        WHERE seen_at <= now() - interval '30 s' AND seen_at > now() - interval '5 min' AND draining_since IS NULL
        ORDER BY \(order) LIMIT 20
        """,
        effect: .reads
    )
}

extension Heartbeat {
    fileprivate var troublesJSON: [UInt8] {
        let items = troubles.map { trouble -> JSONValue in
            [
                "app": .string(trouble.app), "provider": .string(trouble.provider), "word": .string(trouble.word),
                "since": .string(trouble.since.description), "latest": .string(trouble.latest.description),
                "answers": .number(JSONNumber(Int64(trouble.answers))),
            ]
        }
        let taken = takings.map { taking -> JSONValue in
            [
                "app": .string(taking.app), "provider": .string(taking.provider),
                "taken": .string(taking.at.description), "recovered": Self.text(taking.recoveredAt?.description),
            ]
        }
        let activity = activities.map { activity -> JSONValue in
            [
                "app": .string(activity.app), "provider": .string(activity.provider),
                "seconds": Self.number(activity.seconds), "accepted": Self.number(activity.accepted),
                "rejected": Self.number(activity.rejected), "gone": Self.number(activity.gone),
                "spans": .array(activity.spans.map(Self.number)),
                "acceptedAt": Self.text(activity.acceptedAt?.description),
                "rejectedAt": Self.text(activity.rejectedAt?.description), "word": Self.text(activity.word),
                "pausedUntil": Self.text(activity.pausedUntil?.description),
            ]
        }
        // Programs that do not combine them must not take them for troubles.
        let known = remembered.map { outage -> JSONValue in
            [
                "app": .string(outage.app), "provider": .string(outage.provider), "word": .string(outage.word),
                "begun": .string(outage.since.description), "latest": .string(outage.latest.description),
                "answers": .number(JSONNumber(Int64(outage.answers))),
            ]
        }
        return JSONWriter.canonicalBytes(of: .array(items + taken + activity + known))
    }

    private static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    private static func number(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }

    fileprivate var pullsJSON: [UInt8] {
        var object = JSONObject()
        for (name, count) in pulls { object[name] = .number(JSONNumber(Int64(count))) }
        // An older program ignores a backlog without a number.
        for name in measuring { object[name] = .null }
        return JSONWriter.canonicalBytes(of: .object(object))
    }

    /// The keys of lists that are stored among the figures.
    fileprivate static let (holdsKey, lanesKey, predecessorKey) = ("holds", "lanes", "predecessor")
    /// The key of the time of the first heartbeat after a common silence, in microseconds since 1970.
    static let resumedKey = "resumed"
    fileprivate static let lists = [holdsKey, lanesKey, predecessorKey, resumedKey]

    fileprivate var figuresJSON: [UInt8] {
        var object = JSONObject()
        for (name, numbers) in figures { object[name] = .array(numbers.map { .number(JSONNumber(Int64($0))) }) }
        if let predecessor = identity.predecessor {
            let numbers = [Int64(predecessor.process), predecessor.hungUntil?.microseconds ?? 0]
            object[Self.predecessorKey] = .array(numbers.map { .number(JSONNumber($0)) })
        }
        if let holds { object[Self.holdsKey] = .array(holds.map { .number(JSONNumber($0)) }) }
        if let lanes { object[Self.lanesKey] = .array(lanes.map { .string($0.rawValue) }) }
        return JSONWriter.canonicalBytes(of: .object(object))
    }
}

extension LiveProcess {
    /// Creates a process from ``HeartbeatStore/columns``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        var identity = Heartbeat.Identity(
            id: try rows.text(row, 0),
            role: try rows.text(row, 1),
            version: try rows.text(row, 2),
            host: try rows.text(row, 3),
            process: try rows.number(row, 4)
        )
        identity.schema = try rows.number(row, 11)
        identity.messages = try rows.number(row, 12)
        let figures = (try? JSONParser(limits: .event).parse(try rows.json(row, 14)).get())?.object ?? JSONObject()
        identity.predecessor = Heartbeat.Predecessor(figures[Heartbeat.predecessorKey])
        var report = Heartbeat(identity, catalogs: try rows.text(row, 5))
        report.refusal = try rows.optionalText(row, 6)
        let troubles = (try? JSONParser(limits: .event).parse(try rows.json(row, 7)).get())?.array ?? []
        report.troubles = troubles.compactMap { ProviderOutage($0, since: "since") }
        report.remembered = troubles.compactMap { ProviderOutage($0, since: "begun") }
        report.takings = troubles.compactMap(ProviderSuccess.init)
        report.activities = troubles.compactMap(OutletActivity.init)
        let pulls = (try? JSONParser(limits: .event).parse(try rows.json(row, 8)).get())?.object ?? JSONObject()
        for pull in pulls.members {
            report.pulls[pull.key] = pull.value.number?.int64.map { Int(clamping: $0) }
            if pull.value == .null { report.measuring.insert(pull.key) }
        }
        report.hindrance = try rows.optionalText(row, 13)
        for figure in figures.members where !Heartbeat.lists.contains(figure.key) {
            report.figures[figure.key] = figure.value.array?.compactMap { $0.number?.int64.map { Int(clamping: $0) } }
        }
        report.holds = figures[Heartbeat.holdsKey]?.array?.compactMap { $0.number?.int64 }
        report.lanes = figures[Heartbeat.lanesKey]?.array?.compactMap { $0.string.flatMap(Lane.init(rawValue:)) }
        let drainingSince = try rows.timestamp(row, 15)
        report.isDraining = drainingSince != nil
        self.init(
            report: report,
            startedAt: try rows.moment(row, 9),
            seenAt: try rows.moment(row, 10),
            drainingSince: drainingSince
        )
    }
}

extension Heartbeat.Predecessor {
    fileprivate init?(_ json: JSONValue?) {
        let numbers = json?.array?.compactMap { $0.number?.int64 } ?? []
        guard numbers.count == 2 else { return nil }
        self.init(process: Int(clamping: numbers[0]), hungUntil: numbers[1] > 0 ? Timestamp(clamping: numbers[1]) : nil)
    }
}

extension ProviderOutage {
    /// Reads a trouble, or a remembered outage whose beginning has another key; `nil` if no Bellhop process can have
    /// written it.
    fileprivate init?(_ json: JSONValue, since key: String) {
        guard let app = json["app"]?.string, let provider = json["provider"]?.string,
            let word = json["word"]?.string, let since = json[key]?.string.flatMap(Timestamp.init(validating:)),
            let latest = json["latest"]?.string.flatMap(Timestamp.init(validating:)),
            let answers = json["answers"]?.number?.int64
        else { return nil }
        self.init(
            app: app,
            provider: provider,
            word: word,
            since: since,
            latest: latest,
            answers: Int(clamping: answers)
        )
    }
}

extension ProviderSuccess {
    /// Reads an acceptance; `nil` for a trouble, and for values that no Bellhop process can have written.
    fileprivate init?(_ json: JSONValue) {
        guard let app = json["app"]?.string, let provider = json["provider"]?.string,
            let at = json["taken"]?.string.flatMap(Timestamp.init(validating:))
        else { return nil }
        let recovered = json["recovered"]?.string.flatMap(Timestamp.init(validating:))
        self.init(app: app, provider: provider, at: at, recoveredAt: recovered)
    }
}

extension OutletActivity {
    /// Reads the requests to an outlet; `nil` for other entries, and for values that no Bellhop process can have
    /// written.
    fileprivate init?(_ json: JSONValue) {
        func number(_ value: JSONValue?) -> Int? { value?.number?.int64.map { Int(clamping: $0) } }
        guard let app = json["app"]?.string, let provider = json["provider"]?.string,
            let seconds = number(json["seconds"]), let accepted = number(json["accepted"]),
            let rejected = number(json["rejected"])
        else { return nil }
        self.init(app: app, provider: provider)
        (self.seconds, self.accepted, self.rejected) = (seconds, accepted, rejected)
        gone = number(json["gone"]) ?? 0
        spans = json["spans"]?.array?.compactMap(number) ?? []
        acceptedAt = json["acceptedAt"]?.string.flatMap(Timestamp.init(validating:))
        rejectedAt = json["rejectedAt"]?.string.flatMap(Timestamp.init(validating:))
        word = json["word"]?.string
        pausedUntil = json["pausedUntil"]?.string.flatMap(Timestamp.init(validating:))
    }
}
