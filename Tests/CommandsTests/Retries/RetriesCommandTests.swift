import BellhopRules
import CommandLineSupport
import IntegrationSupport
import Push
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Commands
@testable import Operations

@Suite(
    "bellhop retries and bellhop providers",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct RetriesCommandTests {
    @Test("each reason of a waiting retry is a word of a provider's answer, and belongs to an outage or to a limit")
    func reasons() {
        let words = Set(VerdictReason.allCases.map(\.rawValue))
        #expect(words.isSuperset(of: RetryReason.ofOutage + RetryReason.ofLimit))
        #expect(Set(RetryReason.ofOutage).isDisjoint(with: RetryReason.ofLimit))
    }

    private static let forward = [
        "retries", "bring-forward", "--app", "drop", "--provider", "fcm", "--by", "ada", "--because", "it works again",
    ]

    private static func with(_ body: @escaping @Sendable (Prompt, ServerFixture) async throws -> Void) async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in try await body(prompt, servers) }
        }
    }

    /// Announces a worker for longer than the test takes.
    private static func announce(_ servers: ServerFixture, _ change: (inout Heartbeat) -> Void) async throws {
        let identity = Heartbeat.Identity(id: "w1", role: "worker", version: "0.1.0", host: "h", process: 7)
        var report = Heartbeat(identity, catalogs: "same")
        change(&report)
        try await HeartbeatStore(pool: servers.pool).announce(report)
        _ = try await servers.owner.run("UPDATE processes SET seen_at = now() + interval '1 hour'")
    }

    @Test("waiting retries are listed and brought forward with an audit entry, and an empty list has a separate answer")
    func life() async throws {
        try await Self.with { prompt, servers in
            let nothing = await prompt.run("retries")
            #expect(nothing.code == .answerIsNo && nothing.output == "No delivery waits for another attempt.")
            let none = await prompt.run(Self.forward)
            #expect(none.output == "No delivery of drop through fcm waits for another attempt after an outage.")
            try await servers.addRetry("a", through: "fcm", dueIn: 610)
            try await servers.addRetry("b", through: "expo", dueIn: 610)
            let list = await prompt.run("retries", "list", "--app", "drop")
            #expect(list.code == .done)
            for words in ["drop", "fcm", "expo", "in 10 min"] { #expect(list.output.contains(words), "\(list.output)") }
            let done = await prompt.run(Self.forward)
            #expect(done.code == .done, "\(done.complaints)")
            #expect(done.output.hasPrefix("Brought 1 retry forward"), "\(done.output)")
            let states = try await servers.retryStates()
            #expect(states == ["a deferred soon 1", "b retrying later 1"])
            let audit = try await servers.column(
                "SELECT concat_ws(' ', operator, act, filter, items, because) FROM audit"
            )
            #expect(audit == [#"ada retries-bring-forward {"app": "drop", "provider": "fcm"} 1 it works again"#])
        }
    }

    @Test("if another number was brought forward than the operator saw, the audit states both")
    func auditedResult() async throws {
        try await Self.with { _, servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 610)
            let moved = try await RetryAdmin(pool: servers.pool).bringForward(
                try #require(AppID(validating: "drop")),
                "fcm",
                agreed: 26,
                by: ActingOperator(name: "ada", because: "it works again"),
                pausing: .milliseconds(5)
            )
            #expect(moved == 1)
            let audit = try await servers.column(
                "SELECT concat_ws(' ', act, items, filter) FROM audit ORDER BY number"
            )
            #expect(
                audit == [
                    #"retries-bring-forward 26 {"app": "drop", "provider": "fcm"}"#,
                    #"retries-brought-forward 1 {"act": 1}"#,
                ]
            )
        }
    }

    @Test("waits that the provider has requested for a rate limit are listed apart, and stay")
    func limits() async throws {
        try await Self.with { prompt, servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 7_200, state: "deferred")
            try await servers.addRetry("b", through: "fcm", dueIn: 7_200, reason: "QUOTA_EXCEEDED", state: "deferred")
            let list = await prompt.run("retries")
            for words in ["an outage", "a rate limit"] { #expect(list.output.contains(words), "\(list.output)") }
            let json = await prompt.run("retries", "--json")
            let limited = #""limited":[{"app":"drop","provider":"fcm","waiting":1,"#
            #expect(json.output.contains(limited), "\(json.output)")
            let done = await prompt.run(Self.forward)
            #expect(done.output.hasPrefix("Brought 1 retry forward"), "\(done.output)\(done.complaints)")
            #expect(done.output.contains("1 other waits as long as the provider has requested"), "\(done.output)")
            let states = try await servers.retryStates()
            #expect(states == ["a deferred soon 1", "b deferred later 1"])
            let again = await prompt.run(Self.forward)
            #expect(again.code == .answerIsNo)
            #expect(again.output.contains("1 other waits as long as the provider has requested"), "\(again.output)")
        }
    }

    @Test("a wait for a rate limit of less than a minute is listed with its end")
    func shortLimit() async throws {
        try await Self.with { prompt, servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 50, reason: "QUOTA_EXCEEDED", state: "deferred")
            let list = await prompt.run("retries")
            #expect(list.code == .done)
            for words in ["a rate limit", " s"] { #expect(list.output.contains(words), "\(list.output)") }
        }
    }

    @Test("the board counts the deliveries that wait for another attempt, behind a breaker or a hold, and in a backlog")
    func boardWaiting() async throws {
        try await Self.with { prompt, servers in
            try await servers.addRetry("a", through: "apns", dueIn: 610)
            try await servers.addRetry("b", through: "apns", dueIn: 50, reason: "device-rate", state: "deferred")
            try await servers.addRetry("c", through: "apns", dueIn: 0)
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at)
                SELECT 'drop', 'u', 'n' || n, 'push', 'a', 'deferred', 'held',
                       CASE WHEN n <= 3 THEN 'drop/fcm' WHEN n <= 5 THEN 'drop/expo' WHEN n = 6 THEN 'drop/apns'
                            ELSE 'drop/apns//system' END, now()
                FROM generate_series(1, 8) AS n
                """
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO breakers (app, provider, reason, probe_at)
                VALUES ('drop', 'expo', 'UNAUTHORIZED', now() + interval '5 min')
                """
            )
            let why = ["--because", "x", "--by", "ada"]
            _ = await prompt.run(["hold", "add", "--app", "drop", "--provider", "fcm"] + why)
            _ = await prompt.run(["hold", "add", "--app", "drop", "--type", "system"] + why)
            let json = await prompt.run("providers", "--json").output
            for words in [
                #""behindHolds":3,"inBacklog":0,"waiting":3,"waitingIsCapped":false"#,
                #""behindHolds":0,"inBacklog":0,"waiting":2,"waitingIsCapped":false"#,
                #""otherRetriesWaiting":1,"otherRetriesWaitingIsCapped":false,"retriesDue":1,"retriesDueIsCapped":false,"#
                    + #""behindHolds":2,"inBacklog":1,"waiting":6,"waitingIsCapped":false"#,
            ] { #expect(json.contains(words), "\(words) in \(json)") }
            let text = await prompt.run("providers").output
            for words in [
                "3 behind a hold\n", "2 behind the breaker\n",
                "6: 1 for another attempt, 1 for a rate limit or after another response, 1 due now, 2 behind a hold, "
                    + "1 in the backlog\n",
            ] { #expect(text.contains(words), "\(words) in \(text)") }
            let narrow = await prompt.run(["providers"], columns: 80).output
            #expect(narrow.contains("waiting: 3 behind a hold"), "\(narrow)")
        }
    }

    @Test("each part of the waiting deliveries that was counted up to a limit has \"or more\"")
    func capped() throws {
        let now = SystemTime().timestamp
        let waiting = { (count: Int, isCapped: Bool) in
            WaitingRetries(app: "drop", provider: "fcm", count: count, lastDue: now, isCapped: isCapped)
        }
        var work = ProviderBoard.Work()
        (work.others, work.due) = ([waiting(1_000, true), waiting(122, false)], [waiting(3, false)])
        let row = try #require(ProviderBoard.rows([], work, at: now).first)
        #expect(
            ProviderLine(row, at: now).answers.last
                == "1,125 or more: 1,122 or more for a rate limit or after another response, 3 due now"
        )
        let json = row.json.written
        #expect(json.contains(#""otherRetriesWaiting":1122,"otherRetriesWaitingIsCapped":true,"#), "\(json)")
    }

    @Test("waits after another response are listed apart, and stay")
    func others() async throws {
        try await Self.with { prompt, servers in
            try await servers.addRetry("a", through: "fcm", dueIn: 610, reason: "UNAUTHORIZED")
            try await servers.addRetry("b", through: "fcm", dueIn: 610, reason: "quiet-hours", state: "deferred")
            let list = await prompt.run("retries")
            #expect(list.code == .done && list.output.contains("another response"), "\(list.output)")
            let json = await prompt.run("retries", "--json")
            let row = #"{"retries":[],"limited":[],"others":[{"app":"drop","provider":"fcm","waiting":1,"#
            #expect(json.output.hasPrefix(row), "\(json.output)")
            let none = await prompt.run(Self.forward)
            #expect(none.code == .answerIsNo)
            let words = "1 other waits after another response, such as one to a single message, the last until"
            #expect(none.output.contains(words), "\(none.output)")
        }
    }

    @Test("many retries are brought forward only with the count or --yes, and none while the provider still fails")
    func asking() async throws {
        try await Self.with { prompt, servers in
            for user in 10...19 { try await servers.addRetry("u\(user)", through: "fcm", dueIn: 610) }
            let unasked = await prompt.run(Self.forward)
            #expect(unasked.code == .usage)
            let question = "sending 10 retries of drop through fcm now"
            #expect(unasked.complaints.contains(question), "\(unasked.complaints)")
            try await Self.announce(servers) { report in
                report.troubles = [
                    ProviderOutage(
                        app: "drop",
                        provider: "fcm",
                        word: "UNAVAILABLE",
                        since: DeadLetterSamples.ago(40),
                        latest: DeadLetterSamples.ago(2),
                        answers: 120
                    )
                ]
            }
            for consent in [[], ["--yes"]] {
                let failing = await prompt.run(Self.forward + consent)
                #expect(failing.code == .answerIsNo, "it is refused before consent is asked for")
                #expect(failing.complaints.contains("each retry would lose an attempt"), "\(failing.complaints)")
            }
            let status = await prompt.run("status", "--json")
            #expect(status.output.contains("10 that failed wait for their next attempt, the last until"))
            #expect(status.output.contains(#""retriesByProvider":[{"app":"drop","provider":"fcm","waiting":10,"#))
            let states = try await servers.retryStates()
            #expect(states.allSatisfy { $0?.hasSuffix("retrying later 1") == true }, "\(states)")
            try await Self.announce(servers) { report in
                let now = DeadLetterSamples.ago(0)
                report.takings = [ProviderSuccess(app: "drop", provider: "fcm", at: now, recoveredAt: now)]
            }
            let recovered = await prompt.run("status", "--json")
            let told = "fcm accepts drop's deliveries again; 10 that failed wait for their next attempt, the last until"
            #expect(recovered.output.contains(told), "\(recovered.output)")
            let forced = await prompt.run(Self.forward + ["--yes", "--json"])
            #expect(forced.output == #"{"app":"drop","provider":"fcm","deliveries":10}"#)
            let after = await prompt.run("status", "--json")
            #expect(!after.output.contains("accepts drop's deliveries again"))
        }
    }

    private static let probe = [
        "providers", "probe", "--app", "drop", "--provider", "fcm", "--by", "ada", "--because", "the new key",
    ]

    @Test("deliveries behind an open breaker are named with the time of the next try, which an operator brings forward")
    func breaker() async throws {
        try await Self.with { prompt, servers in
            let closed = await prompt.run(Self.probe)
            #expect(closed.code == .answerIsNo)
            #expect(closed.complaints.contains("no breaker is open"), "\(closed.complaints)")
            let silent = await prompt.run("providers", "probe", "--app", "drop", "--provider", "fcm")
            #expect(silent.code == .answerIsNo, "no reason is asked for")
            #expect(silent.complaints.contains("no breaker is open"), "\(silent.complaints)")
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at)
                SELECT 'drop', 'u', 'n' || n, 'push', 'a', 'deferred', 'UNAUTHENTICATED',
                       CASE n WHEN 3 THEN 'drop/fcm//system' ELSE 'drop/fcm' END, now()
                FROM generate_series(1, 3) AS n
                """
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO breakers (app, provider, reason, probe_at)
                VALUES ('drop', 'fcm', 'UNAUTHENTICATED', now() + interval '5 min'),
                       ('drop', 'expo', 'UNAUTHORIZED', now() + interval '5 min')
                """
            )
            _ = try await servers.owner.run(
                "INSERT INTO holds (app, type, operator, because) VALUES ('drop', 'system', 'ada', 'x')",
                []
            )
            let forward = await prompt.run(Self.forward)
            #expect(forward.code == .answerIsNo)
            let waits = "A breaker is open (UNAUTHENTICATED): 2 pushes wait, next try at "
            #expect(forward.output.contains(waits), "\(forward.output)")
            let command = "bellhop providers probe --app drop --provider fcm tries now"
            #expect(forward.output.contains(command), "\(forward.output)")
            let status = await prompt.run("status", "--json").output
            #expect(status.contains("UNAUTHENTICATED: 2 pushes wait, next try at "), "\(status)")
            #expect(status.contains(#""page":"providers""#) && status.contains(command), "\(status)")
            let board = await prompt.run("providers").output
            #expect(board.contains("drop/fcm: 2 pushes wait, next try at "), "\(board)")
            let row = await prompt.run("providers", "--json").output
            #expect(row.contains(#""behindBreaker":2,"behindBreakerIsCapped":false"#), "\(row)")
            let tried = await prompt.run(Self.probe)
            #expect(
                tried.code == .done && tried.output.contains("one of the 2 that wait is sent"),
                "\(tried.complaints)"
            )
            let due = try await servers.column("SELECT provider || ' ' || (probe_at <= now()) FROM breakers ORDER BY 1")
            #expect(due == ["expo false", "fcm true"])
            let after = await prompt.run("status", "--json").output
            #expect(after.contains("2 pushes wait, and the next one is sent as a try"), "\(after)")
            _ = try await servers.owner.run("DELETE FROM holds", [])
            let released = await prompt.run("status", "--json").output
            #expect(released.contains("3 pushes wait, and"), "with the backlog of the former hold: \(released)")
            let audit = try await servers.column(
                "SELECT concat_ws(' ', operator, act, filter, items, because) FROM audit"
            )
            #expect(audit == [#"ada provider-probe {"app": "drop", "provider": "fcm"} 1 the new key"#])
        }
    }

    private static let noWorker =
        "No worker has reported in the last half minute: all of them hang, or none is running; see bellhop status."

    @Test("the latest answers of a worker that has fallen silent remain the latest")
    func latestOfSilentWorker() async throws {
        try await Self.with { prompt, servers in
            func report(_ accepted: Timestamp) async throws {
                try await Self.announce(servers) { report in
                    var activity = OutletActivity(app: "drop", provider: "fcm")
                    (activity.seconds, activity.accepted, activity.acceptedAt) = (60, 60, accepted)
                    report.activities = [activity]
                }
            }
            let (latest, earlier) = (DeadLetterSamples.ago(40), DeadLetterSamples.ago(200))
            try await report(latest)
            _ = try await servers.owner.run("UPDATE processes SET id = 'hung', seen_at = now() - interval '35 s'")
            let alone = await prompt.run("providers")
            #expect(alone.output == Self.noWorker)
            try await report(earlier)
            _ = try await servers.owner.run(
                "UPDATE processes SET seen_at = now() - interval '35 s' WHERE id = 'hung'"
            )
            let json = await prompt.run("providers", "--json").output
            let row = #"{"app":"drop","provider":"fcm","state":"accepts","acceptedPerMinute":60,"#
            #expect(json.contains(row) && json.contains(#""lastAcceptedAt":"\#(latest)""#), "\(json)")
        }
    }

    @Test("the board shows an outlet that works with its rates, durations and latest answers")
    func board() async throws {
        try await Self.with { prompt, servers in
            let empty = await prompt.run("providers")
            #expect(empty.code == .answerIsNo && empty.output == Self.noWorker)
            try await Self.announce(servers) { report in
                var activity = OutletActivity(app: "drop", provider: "fcm")
                (activity.seconds, activity.accepted, activity.rejected) = (90, 1_800, 3)
                activity.spans = [0, 0, 0, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10]
                activity.acceptedAt = DeadLetterSamples.ago(0)
                activity.rejectedAt = DeadLetterSamples.ago(600)
                activity.word = "UNREGISTERED"
                var refusing = OutletActivity(app: "drop", provider: "expo")
                (refusing.seconds, refusing.rejected, refusing.word) = (60, 61, "UNAUTHORIZED")
                (refusing.acceptedAt, refusing.rejectedAt) = (DeadLetterSamples.ago(200), DeadLetterSamples.ago(1))
                report.activities = [activity, refusing, OutletActivity(app: "padel", provider: "apns")]
            }
            _ = try await servers.owner.run("UPDATE processes SET started_at = seen_at")
            let early = await prompt.run("providers").output
            let silent = early.split(separator: "\n").first { $0.hasPrefix("padel") }
            #expect(silent?.contains("no report yet") == true && silent?.contains("none in") == false, "\(early)")
            _ = try await servers.owner.run("UPDATE processes SET started_at = now() - interval '12 s'")
            let json = await prompt.run("providers", "--json")
            let row = #"{"app":"drop","provider":"fcm","state":"accepts","acceptedPerMinute":1200,"#
            #expect(json.output.contains(row), "\(json.output)")
            let times = #""lastRejection":"UNREGISTERED","medianMilliseconds":8,"p95Milliseconds":10,"#
            #expect(json.output.contains(times), "\(json.output)")
            let refusing = #"{"app":"drop","provider":"expo","state":"rejects","acceptedPerMinute":0,"#
            #expect(json.output.contains(refusing), "\(json.output)")
            let unused = #"{"app":"padel","provider":"apns","state":"unused","acceptedPerMinute":0,"#
            #expect(json.output.contains(unused), "\(json.output)")
            let text = await prompt.run("providers")
            for words in ["accepts", "1,200", "8 ms", "UNREGISTERED", "nothing sent", "none in "] {
                #expect(text.output.contains(words), "\(text.output)")
            }
            #expect(text.output.contains("waiting\n"), "in a pipe the table has all columns")
            let narrow = await prompt.run(["providers"], columns: 80)
            #expect(narrow.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(narrow.output)")
            for words in ["p95\n", "accepts", "1,200", "8 ms", "; last rejected: ", "UNREGISTERED", "none in "] {
                #expect(narrow.output.contains(words), "\(words) in \(narrow.output)")
            }
            let rows = narrow.output.split(separator: "\n").dropFirst()
            #expect(rows.first?.hasPrefix("drop") == true && rows.dropFirst().first?.hasPrefix("    last") == true)
        }
    }
}
