import AMQP
import BellhopRules
import CommandLineSupport
import Foundation
import IntegrationSupport
import Settings
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Processes in the status",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct StatusProcessTests: ProcessReporting {
    @Test("a shell with catalogues other than the workers' is told so and not advised to apply its topology")
    func catalogs() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let book = HeartbeatStore(pool: servers.pool)
                // A type without a binding: the topology differs from these files.
                _ = try await servers.owner.run("DELETE FROM topology_bindings WHERE routing_key = 'drop.system'")
                let alone = try await Self.problems(prompt)
                #expect(alone.contains { $0.contains("run bellhop topology apply") }, "\(alone)")
                try await Self.announce(Self.report("w1", "newer"), servers)
                let beside = try await Self.problems(prompt)
                #expect(beside.contains { $0.contains("if yours are the new ones, run bellhop topology") }, "\(beside)")
                try await Self.announce(Self.report("w2", "older"), servers)
                let mixed = try await Self.problems(prompt)
                #expect(mixed.contains { $0.contains("different catalogues") && $0.contains("h-w2[7]") }, "\(mixed)")
                var waiting = Self.report("w1", "newer")
                waiting.refusal = "a new type is not bound yet (drop.system): bellhop topology apply, then SIGHUP again"
                try await Self.announce(waiting, servers)
                let asked = try await Self.problems(prompt)
                #expect(!asked.contains { $0.contains("do not run topology apply") }, "\(asked)")
                let advice = "h-w1[7] waits for it with newer catalogues: where this shell has them, too, run bellhop"
                #expect(asked.contains { $0.contains(advice) }, "\(asked)")
                try await book.leave("w1")
                try await book.leave("w2")
                let gone = try await book.all()
                #expect(gone.isEmpty)
            }
        }
    }

    @Test("a shell whose catalogues no process uses is told so, also if the topology fits both")
    func forgottenReload() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                try await Self.announce(Self.report("w1", "former"), servers)
                try await Self.announce(Self.report("w2", "former"), servers)
                let problems = try await Self.problems(prompt)
                #expect(problems.contains { $0.contains("all processes use former: if yours") }, "\(problems)")
            }
        }
    }

    @Test("running workers that take no messages are connecting, and another worker would not help")
    func connecting() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let none = try await Self.problems(prompt)
                let missing = "no worker runs: start one, or read the log of the pool that should run it"
                #expect(none.contains(missing), "\(none)")
                try await Self.announce(Self.report("w1", "same"), servers)
                let problems = try await Self.problems(prompt)
                let words =
                    "no worker takes messages at present, although 1 worker ran in the last half minute "
                    + "(h-w1[7]): if still running, they reconnect automatically"
                #expect(problems.contains { $0.hasPrefix(words) }, "\(problems)")
                #expect(!problems.contains { $0.hasPrefix("no worker runs") }, "\(problems)")
                let urgent = try RawPublisher(#require(Servers.amqpURL))
                try urgent.consume(servers.names.lane(.urgent))
                let partly = try await Self.problems(prompt)
                let normal = "no worker takes messages of the normal lane at present, although one that serves it ran"
                #expect(partly.contains { $0.hasPrefix(normal) }, "\(partly)")
                _ = try await servers.owner.run("DELETE FROM processes")
                let gone = try await Self.problems(prompt)
                #expect(gone.contains { $0.hasPrefix("no worker serves the normal lane: start one") }, "\(gone)")
                withExtendedLifetime(urgent) {}
            }
        }
    }

    @Test("a provider that rejects each delivery is a problem, unless it accepts some or an outage begins")
    func rejections() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var report = Self.report("w1", "same")
                report.activities = [("drop", "expo", 0), ("drop", "fcm", 1), ("padel", "expo", 0)].map {
                    var activity = OutletActivity(app: $0.0, provider: $0.1)
                    (activity.seconds, activity.accepted, activity.word) = (60, $0.2, "UNAUTHORIZED")
                    activity.rejected = $0.0 == "padel" ? 19 : 61
                    activity.rejectedAt = DeadLetterSamples.ago(1)
                    return activity
                }
                try await Self.announce(report, servers)
                var problems = try await Self.problems(prompt).filter { $0.contains("rejects each") }
                let words =
                    "expo rejects each of drop's deliveries (UNAUTHORIZED, 61 per minute), because of our settings"
                #expect(problems.count == 1 && problems.first?.hasPrefix(words) == true, "\(problems)")
                // Acceptances within the minute, the last of them 10 s and 20 s before the last rejection.
                for (seconds, fcm) in [(11, 0), (21, 1)] {
                    report.activities[1].rejectedAt = DeadLetterSamples.ago(1)
                    report.activities[1].acceptedAt = DeadLetterSamples.ago(Int64(seconds))
                    try await Self.announce(report, servers)
                    problems = try await Self.problems(prompt).filter { $0.contains("fcm rejects each of drop's") }
                    #expect(problems.count == fcm, "accepted \(seconds) s ago")
                }
                report.activities[1].acceptedAt = nil
                report.troubles = [
                    ProviderOutage(
                        app: "drop",
                        provider: "expo",
                        word: "UNAVAILABLE",
                        since: DeadLetterSamples.ago(3),
                        latest: DeadLetterSamples.ago(1),
                        answers: 61
                    )
                ]
                try await Self.announce(report, servers)
                let beginning = try await Self.problems(prompt)
                #expect(!beginning.contains { $0.contains("rejects each") || $0.contains("to all of") }, "\(beginning)")
                let board = await prompt.run("providers").output.split(separator: "\n")
                let row = board.first { $0.hasPrefix("drop") && $0.contains("expo") }
                #expect(row?.contains("failing") == true, "\(board)")
            }
        }
    }

    @Test("a provider that reports most of an app's devices as gone is a problem, also while it accepts some pushes")
    func endingDevices() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let outlets = [("drop", "fcm", 1_200), ("drop", "expo", 49), ("padel", "fcm", 50)]
                for worker in ["w1", "w2"] {
                    var report = Self.report(worker, "same")
                    report.activities = outlets.map { app, provider, gone in
                        var activity = OutletActivity(app: app, provider: provider)
                        (activity.seconds, activity.acceptedAt) = (60, DeadLetterSamples.ago(1))
                        if worker == "w1" { (activity.rejected, activity.gone) = (gone, gone) }
                        // Of padel's, exactly half.
                        activity.accepted = app == "padel" ? 25 : 1
                        return activity
                    }
                    try await Self.announce(report, servers)
                }
                let problems = try await Self.problems(prompt).filter { $0.contains("as gone") }
                let words =
                    "fcm reports most of drop's devices as gone, and they end (1,200 of the last 1,202 answers): if that "
                    + "is unexpected, stop it with bellhop hold add --app drop --provider fcm; see docs/runbooks/"
                #expect(problems.count == 1 && problems.first?.hasPrefix(words) == true, "\(problems)")
                _ = try await servers.owner.run(
                    """
                    INSERT INTO holds (app, type, provider, operator, because)
                    VALUES ('drop', 'promo', '', 'ada', 'x'), ('padel', '', '', 'ada', 'x'), ('drop', '', 'expo', 'ada', 'x')
                    """
                )
                let open = try await Self.problems(prompt).filter { $0.contains("as gone") }
                #expect(open == problems, "no hold stops them")
                _ = try await servers.owner.run(
                    "INSERT INTO holds (app, provider, operator, because) VALUES ('drop', 'fcm', 'ada', 'x')"
                )
                let held = try await Self.problems(prompt).filter { $0.contains("as gone") }
                let stopped = "1,202 answers): hold 4 stops further pushes; see docs/runbooks/"
                #expect(held.count == 1 && held.first?.contains(stopped) == true, "\(held)")
                _ = try await servers.owner.run(
                    "INSERT INTO breakers (app, provider, reason, probe_at) VALUES ('drop', 'fcm', 'mass-death', now())"
                )
                let behind = try await Self.problems(prompt).filter { $0.contains("as gone") }
                #expect(behind == [], "the breaker is the problem, and no device ends")
            }
        }
    }

    @Test("a provider that accepts no push and reports most devices as gone is one problem, which names their end")
    func endingAllDevices() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var report = Self.report("w1", "same")
                var activity = OutletActivity(app: "drop", provider: "fcm")
                (activity.seconds, activity.rejectedAt, activity.word) = (60, DeadLetterSamples.ago(1), "UNREGISTERED")
                (activity.rejected, activity.gone) = (1_200, 1_200)
                report.activities = [activity]
                try await Self.announce(report, servers)
                let problems = try await Self.problems(prompt).filter { $0.hasPrefix("fcm ") }
                let words =
                    "fcm reports most of drop's devices as gone, and they end (1,200 of the last 1,200 answers): "
                #expect(problems.count == 1 && problems.first?.hasPrefix(words) == true, "\(problems)")
                _ = try await servers.owner.run(
                    "INSERT INTO breakers (app, provider, reason, probe_at) VALUES ('drop', 'fcm', 'mass-death', now())"
                )
                let effect = "After a try that succeeds, gone devices end for ten minutes"
                let refused = try await Self.problems(prompt).filter { $0.hasPrefix("fcm ") }
                #expect(refused.count == 1 && refused.first?.contains(effect) == true, "\(refused)")
                _ = try await servers.owner.run(
                    "INSERT INTO holds (app, provider, operator, because) VALUES ('drop', 'fcm', 'ada', 'x')"
                )
                let held = try await Self.problems(prompt).filter { $0.contains(effect) }
                #expect(held == [], "no try is made")
            }
        }
    }

    @Test("an acceptance of one worker ends the outage that another one reports, also if it has failed again since")
    func acceptanceOfAnother() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                func outage(since seconds: Int64) -> ProviderOutage {
                    ProviderOutage(
                        app: "drop",
                        provider: "fcm",
                        word: "UNAVAILABLE",
                        since: DeadLetterSamples.ago(seconds),
                        latest: DeadLetterSamples.ago(1),
                        answers: 80
                    )
                }
                var (first, second) = (Self.report("w1", "same"), Self.report("w2", "same"))
                first.troubles = [outage(since: 31)]
                second.troubles = [outage(since: 3)]
                try await Self.announce(first, servers)
                try await Self.announce(second, servers)
                let alone = try await Self.problems(prompt)
                #expect(alone.contains { $0.contains("to all of drop's pushes for 3") }, "\(alone)")
                var activity = OutletActivity(app: "drop", provider: "fcm")
                activity.acceptedAt = DeadLetterSamples.ago(5)
                second.activities = [activity]
                try await Self.announce(second, servers)
                let problems = try await Self.problems(prompt)
                #expect(!problems.contains { $0.contains("to all of") }, "\(problems)")
            }
        }
    }

    @Test("a draining worker is shown as such, and neither its version nor its canary is a problem")
    func draining() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                try await Self.announce(Self.report("w1", "newer"), servers)
                var last = Self.report("w2", "older")
                (last.isDraining, last.hindrance) = (true, "lane urgent: its canary is not back yet")
                try await Self.announce(last, servers)
                let problems = try await Self.problems(prompt)
                let told = problems.filter { $0.contains("different catalogues") || $0.contains("h-w2") }
                #expect(told.isEmpty)
                let text = await prompt.run("status").output
                #expect(text.contains("worker, draining"), "\(text)")
                let json = await prompt.run("status", "--json").output
                #expect(json.contains(#""drainingSince":null"#) && json.contains(#""drainingSince":"20"#))
            }
        }
    }

    @Test("a rejected reload, a failing provider and a paused replay are problems with advice")
    func troubles() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var report = Self.report("w1", "same")
                report.refusal = "drop.json5:3: no such member"
                report.pulls = ["drop/fcm": 600]
                report.hindrance = "lane urgent: its canary has been in flight for 42 s"
                report.figures = ["recorded": [12], "stored": [1, 2]]
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
                try await Self.announce(report, servers)
                _ = try await servers.owner.run(
                    """
                    INSERT INTO replays (filter, operator, because, items, pause_share, state, pause_reason)
                    VALUES ('{}', 'ada', 'x', 5, 20, 'paused', '1 of the last 1 failed')
                    """
                )
                _ = try await servers.owner.run(
                    """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
                    VALUES ('drop', 'u', 'n', 'push', 'a', 'deferred', 'drop/fcm', now())
                    """
                )
                let problems = try await Self.problems(prompt)
                let wanted = [
                    "fcm answers UNAVAILABLE to all of drop's pushes", "has refused the new catalogues",
                    "replay 1 is paused (1 of the last 1 failed)",
                    "worker h-w1[7] is not ready: lane urgent: its canary has been in flight for 42 s",
                ]
                for words in wanted {
                    let isTold = problems.contains { $0.contains(words) }
                    #expect(isTold, "\(words) in \(problems)")
                }
                _ = try await servers.owner.run("UPDATE processes SET seen_at = now() - interval '20 s'")
                let last = try await Self.problems(prompt)
                let age = /worker h-w1\[7\] was not ready 2\d s ago and has sent no heartbeat since: lane urgent: its/
                #expect(last.contains { $0.contains(age) }, "\(last)")
                let json = await prompt.run("status", "--json").output
                #expect(json.contains(#""perSecond":600,"secondsLeft":1"#), "\(json)")
                #expect(json.contains(#""figures":{"recorded":[12],"stored":[1,2]}"#))
                #expect(json.contains(#""failingProviders":[{"app":"drop","provider":"fcm","word":"UNAVAILABLE""#))
                let text = await prompt.run("status").output
                #expect(text.contains("processes"))
                let watch = await prompt.run("status", "--watch")
                #expect(watch.code == .usage)
            }
        }
    }

    @Test("a backlog without a measured rate has no time left, and a stopped one has the rate 0")
    func unmeasured() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var report = Self.report("w1", "same")
                report.pulls = ["drop/fcm": 133]
                try await Self.announce(report, servers)
                var other = Self.report("w2", "same")
                other.measuring = ["drop/fcm"]
                try await Self.announce(other, servers)
                _ = try await servers.owner.run(
                    """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
                    SELECT 'drop', 'u', o, 'push', 'a', 'deferred', o, now()
                    FROM unnest(ARRAY['drop/apns', 'drop/expo', 'drop/fcm']) AS o
                    """
                )
                _ = try await servers.owner.run(
                    """
                    INSERT INTO breakers (app, provider, reason, probe_at)
                    VALUES ('drop', 'expo', 'UNAUTHORIZED', now() + interval '5 min')
                    """
                )
                let json = await prompt.run("status", "--json").output
                let rates = json.components(separatedBy: #""perSecond":"#).dropFirst().map { $0.prefix { $0 != "}" } }
                let unknown = #"null,"secondsLeft":null"#
                #expect(rates == [unknown[...], #"0,"secondsLeft":null"#, unknown[...]], "\(json)")
            }
        }
    }

    @Test("a failing provider that has requested a pause is reported with its end and the deliveries that wait for it")
    func requestedPause() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                try await servers.addRetry("a", through: "fcm", dueIn: 50, reason: "QUOTA_EXCEEDED", state: "deferred")
                _ = try await servers.owner.run(
                    """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
                    VALUES ('drop', 'u', 'n', 'push', 'a', 'deferred', 'drop/fcm', now())
                    """
                )
                var report = Self.report("w1", "same")
                report.troubles = [
                    ProviderOutage(
                        app: "drop",
                        provider: "fcm",
                        word: "QUOTA_EXCEEDED",
                        since: DeadLetterSamples.ago(40),
                        latest: DeadLetterSamples.ago(2),
                        answers: 2
                    )
                ]
                try await Self.announce(report, servers)
                let limited = try await Self.problems(prompt).joined(separator: "\n")
                let waits = "1 delivery waits as long as it has requested, the last until "
                #expect(limited.contains(waits), "\(limited)")
                var activity = OutletActivity(app: "drop", provider: "fcm")
                activity.pausedUntil = Timestamp(validating: "2099-01-01T12:19:45Z")
                report.activities = [activity]
                try await Self.announce(report, servers)
                let paused = try await Self.problems(prompt).joined(separator: "\n")
                let words = "it has requested a pause until 12:19:45 UTC, and 2 deliveries wait for its end"
                #expect(paused.contains(words), "\(paused)")
                #expect(!paused.contains("is tried again"), "\(paused)")
                let json = await prompt.run("status", "--json").output
                #expect(json.contains(#""pausedUntil":"2099-01-01T12:19:45"#), "\(json)")
            }
        }
    }

    private static func trouble(since: Int64, latest: Int64, answers: Int = 8) -> ProviderOutage {
        ProviderOutage(
            app: "drop",
            provider: "fcm",
            word: "UNAVAILABLE",
            since: DeadLetterSamples.ago(since),
            latest: DeadLetterSamples.ago(latest),
            answers: answers
        )
    }

    @Test("a provider that another worker has reached since, or that was not used since, is not failing")
    func refuted() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                func words(taken: Int64?, latest: Int64) async throws -> [String] {
                    var first = Self.report("w1", "same")
                    first.troubles = [Self.trouble(since: 400, latest: latest)]
                    var second = Self.report("w2", "same")
                    second.takings =
                        taken.map { [ProviderSuccess(app: "drop", provider: "fcm", at: DeadLetterSamples.ago($0))] }
                        ?? []
                    try await Self.announce(first, servers)
                    try await Self.announce(second, servers)
                    return try await Self.problems(prompt).filter { $0.contains("fcm answer") }
                }
                let refuted = try await words(taken: 100, latest: 300)
                #expect(refuted == [])
                let silent = try await words(taken: nil, latest: 300)
                #expect(
                    silent.first?.contains("fcm answered UNAVAILABLE to all of drop's pushes for 100 s, 8 times")
                        == true
                )
                #expect(silent.first?.contains("was asked for nothing since, 5 min") == true, "\(silent)")
                #expect(silent.first?.contains("check-provider --app drop --provider fcm") == true)
                #expect(silent.first?.hasSuffix("; see docs/runbooks/provider-fails.md") == true, "\(silent)")
                let back = try await words(taken: 100, latest: 2)
                #expect(
                    back.first?.contains("fcm answers UNAVAILABLE to all of drop's pushes for 1") == true,
                    "\(back)"
                )
                #expect(back.first?.hasSuffix("; see docs/runbooks/provider-fails.md") == true, "\(back)")
            }
        }
    }

    @Test("a faulty catalogue hides nothing else and is listed among the problems")
    func faultyCatalogs() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let catalogs = folder.appendingPathComponent("broken")
                try FileManager.default.createDirectory(at: catalogs, withIntermediateDirectories: true)
                try Data("{app: 7}".utf8).write(to: catalogs.appendingPathComponent("drop.json5"))
                let answer = await prompt.with("BELLHOP_CATALOGS", catalogs.path).run("status")
                #expect(answer.code == .done, "\(answer.complaints)")
                #expect(answer.output.contains("this shell's catalogues cannot be read"), "\(answer.output)")
                #expect(answer.output.contains("no worker runs"), "\(answer.output)")
            }
        }
    }

    @Test("a fault that a process and this shell have found is told once, and of many lines the first")
    func sameFault() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let catalogs = folder.appendingPathComponent("broken")
                try FileManager.default.createDirectory(at: catalogs, withIntermediateDirectories: true)
                try Data("{app: 7, nosuch: 1, types: 8}".utf8).write(to: catalogs.appendingPathComponent("drop.json5"))
                let prompt = prompt.with("BELLHOP_CATALOGS", catalogs.path)
                let alone = try await Self.problems(prompt)
                let fault = try #require(alone.first { $0.contains("catalogues cannot be read") })
                #expect(fault.hasSuffix(" …; bellhop check-config shows all of it"), "\(fault)")
                let all = await prompt.run("check-config").complaints
                let line = try #require(all.split(separator: "\n").last.map(String.init))
                #expect(!fault.contains(line), "\(all)")
                let text = try #require(Self.fault(of: catalogs.path))
                let identity = Heartbeat.Identity(id: "s", role: "scheduler", version: "0.1.0", host: "h", process: 8)
                var report = Heartbeat(identity, catalogs: "old")
                report.refusal = String(text.prefix(500))
                try await Self.announce(report, servers)
                let both = try await Self.problems(prompt)
                let refused = "scheduler h[8] has refused the new catalogues, the old ones serve, for the same fault"
                #expect(both.contains(refused), "\(both)")
            }
        }
    }

    @Test("a fault that this shell's files no longer have is reported with the advice to load the correction")
    func correctedFault() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let faulty = folder.appendingPathComponent("faulty")
                try FileManager.default.createDirectory(at: faulty, withIntermediateDirectories: true)
                try Data("{app: 7, nosuch: 1, types: 8}".utf8).write(to: faulty.appendingPathComponent("drop.json5"))
                let unbound = "a new type is not bound yet (drop.x): bellhop topology apply, then SIGHUP again"
                let advice = " …. The files of this shell have no fault: if they are the corrected ones, SIGHUP all"
                let refused = "scheduler h[8] has refused the new catalogues, the old ones serve: "
                for (refusal, end) in [(try #require(Self.fault(of: faulty.path)), advice), (unbound, unbound)] {
                    let identity = Heartbeat.Identity(id: "s", role: "scheduler", version: "1", host: "h", process: 8)
                    var report = Heartbeat(identity, catalogs: "old")
                    report.refusal = String(refusal.prefix(500))
                    try await Self.announce(report, servers)
                    let problem = try await Self.problems(prompt).first { $0.hasPrefix(refused) } ?? "nothing"
                    #expect(problem.contains(end), "\(problem)")
                    #expect(!problem.contains("correct them") && !problem.contains("check-config"), "\(problem)")
                    #expect(problem.contains("SIGHUP all") == (end == advice), "\(problem)")
                }
            }
        }
    }

    /// The text that a process reports for catalogues that it cannot read.
    private static func fault(of folder: String) -> String? {
        do {
            _ = try BellhopConfiguration.read(environment: ["BELLHOP_CATALOGS": folder]).get().readCatalogs()
            return nil
        } catch { return "\(error)" }
    }

    @Test("no advice to start a scheduler is given if one runs or may not have reported yet")
    func absentClerk() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let absent = try await Self.problems(prompt)
                let isMissing = absent.contains { $0.hasPrefix("no scheduler runs") }
                #expect(isMissing, "\(absent)")
                let consumer = Consumer(
                    ConsumerOptions(
                        broker: try servers.broker,
                        name: "test",
                        subscriptions: [.init(queue: servers.names.lane(.urgent), prefetch: 1)]
                    )
                )
                consumer.start()
                var unsaid: [String] = []
                for _ in 0..<1_000 where !unsaid.contains(where: { $0.contains("look again in ten seconds") }) {
                    unsaid = try await Self.problems(prompt)
                }
                let isUnsaid = unsaid.contains { $0.contains("no process has written a heartbeat yet") }
                #expect(isUnsaid, "\(unsaid)")
                try await Self.announce(Self.report("s1", "same", role: "scheduler"), servers)
                let seen = try await Self.problems(prompt)
                await consumer.close()
                let isSeen = seen.contains { $0.contains("although a scheduler ran in the last half minute, h-s1[7]") }
                #expect(isSeen, "\(seen)")
            }
        }
    }
}
