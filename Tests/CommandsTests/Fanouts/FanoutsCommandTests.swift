import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "bellhop fanouts",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct FanoutsCommandTests {
    @Test("list shows active fan-outs first, with progress, rate and time left, and exits with 1 without a match")
    func list() async throws {
        try await Self.with { prompt, servers in
            #expect(await prompt.run("fanouts").code == .answerIsNo)
            try await servers.addWorker()
            try await servers.addFollowers(1_000)
            let number = try await servers.addFanout("e1", users: 600, plannedTo: "u00600")
            _ = try await servers.addFanout("e2", state: .finished, users: 20)
            let answer = await prompt.run("fanouts")
            #expect(answer.code == .done, "\(answer.complaints)")
            let rows = answer.output.split(separator: "\n").map(String.init)
            #expect(rows.count == 3)
            let row = try #require(rows.dropFirst().first)
            #expect(row.hasPrefix("\(number) "))
            for words in ["running", "venues", "opportunity", "venue:1", "600 of about 1,000", " s "] {
                #expect(row.contains(words), "\(words) in \(row)")
            }
            let json = await prompt.run("fanouts", "list", "--state", "running", "--json")
            let list = try JSONDecoder().decode(PrintedFanouts.self, from: Data(json.output.utf8))
            #expect(list.count == 1)
            let first = try #require(list.fanouts.first)
            #expect(first.event == "e1")
            #expect(first.state == "running")
            #expect(first.users == 600)
            #expect(first.usersEstimated == 1_000)
            #expect(first.lane == "normal")
            let none = await prompt.run("fanouts", "--app", "nosuch", "--json")
            #expect(none.code == .answerIsNo)
            #expect(none.output == #"{"count":0,"fanouts":[]}"#)
        }
    }

    @Test("without a worker, a running fan-out has no rate and no time left, and states why")
    func alone() async throws {
        try await Self.with { prompt, servers in
            try await servers.addFollowers(1_000)
            let number = try await servers.addFanout("e1", users: 600, plannedTo: "u00600")
            let shown = await prompt.run("fanouts", "show", "\(number)").output
            #expect(shown.contains("none: no worker runs") && !shown.contains("per second"), "\(shown)")
            let json = await prompt.run("fanouts", "--json").output
            let rate = #""usersPerSecond":null,"secondsLeft":null,"#
            #expect(json.contains(rate) && json.contains(#""hasWorker":false"#), "\(json)")
            let status = await prompt.run("status").output
            #expect(status.contains("600 of about 1,000, no worker runs"), "\(status)")
            try await servers.addWorker()
            let working = await prompt.run("fanouts", "show", "\(number)").output
            #expect(working.contains("users per second") && !working.contains("no worker runs"), "\(working)")
        }
    }

    @Test("on a terminal of 80 columns no line is longer, and in a pipe the table has all columns")
    func narrow() async throws {
        try await Self.with { prompt, servers in
            try await servers.addFollowers(20_000)
            let number = try await servers.addFanout("e1", users: 12_000, plannedTo: "u12000")
            let wide = await prompt.run("fanouts")
            #expect(wide.output.contains("per second  left"), "\(wide.output)")
            #expect(wide.output.contains("12,000 of about 20,000"), "\(wide.output)")
            let narrow = await prompt.run(["fanouts"], columns: 80)
            #expect(narrow.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(narrow.output)")
            for words in ["running", "venues", "opportunity", "venue:1", "12,000 of ~20,000", "left"] {
                #expect(narrow.output.contains(words), "\(words) in \(narrow.output)")
            }
            let reason = ["--by", "ada", "--because", "wrong prices"]
            let stop = await prompt.run(["fanouts", "stop", "\(number)"] + reason, columns: 80)
            #expect(stop.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(stop.output)")
            let unknown = await prompt.run(["fanouts", "cancel", "4711", "--nosuch"], columns: 50)
            let lines = unknown.complaints.split(separator: "\n")
            #expect(lines.count > 1 && lines.allSatisfy { $0.count <= 50 }, "\(unknown.complaints)")
            let line = await prompt.run("fanouts", "cancel", "4711", "--nosuch")
            let words = unknown.complaints.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words == line.complaints, "without a terminal it is one line")
            let json = await prompt.run("fanouts", "--json").output
            let holds = #""holds":[{"hold":1,"covers":"venues, type opportunity"}],"unexplainedBy":null}"#
            #expect(json.contains(#""held":false,"typeHold":1,"# + holds), "\(json)")
        }
    }

    @Test("show displays a fan-out's figures, its taken pages, and the operator and reason of a pause")
    func show() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", plannedTo: "u00010", planned: [true])
            let pause = await prompt.run(["fanouts", "pause", "\(number)"] + Self.agreed)
            #expect(pause.output.hasPrefix("Paused 1 fan-out.\n"), "\(pause.complaints)")
            let answer = await prompt.run("fanouts", "show", "\(number)")
            #expect(answer.code == .done, "\(answer.complaints)")
            for words in ["event e1 of venues", "page 3: taken", "ada paused it", "a flood", "venue:1", "paused"] {
                #expect(answer.output.contains(words), "\(words) in \(answer.output)")
            }
            let json = await prompt.run("fanouts", "show", "--event", "e1", "--json")
            let shown = try JSONDecoder().decode(PrintedFanout.self, from: Data(json.output.utf8))
            #expect(shown.state == "paused")
            #expect(shown.openPages?.map(\.page) == [3])
            #expect(shown.acts?.map(\.act) == ["fanout-pause"])
            #expect(shown.waits?.count == 1)
            let unknown = await prompt.run("fanouts", "show", "4711")
            #expect(unknown.code == .answerIsNo)
            #expect(unknown.complaints.contains("unknown fan-out; bellhop fanouts lists all"))
        }
    }

    @Test("a fan-out to everyone counts everyone now, and a running one names the pages behind each count")
    func everyone() async throws {
        try await Self.with { prompt, servers in
            let people = "INSERT INTO recipients (app, user_id, source_time) SELECT 'venues', 'r' || n, now() FROM "
            _ = try await servers.owner.run(Statement(people + "generate_series(1, 3) n"), [])
            let devices = """
                INSERT INTO push_subscriptions (app, profile_id, id, device_token, platform, provider, registered_at,
                    last_seen_at, source_time)
                SELECT 'venues', 'r' || n, 'sub_' || lpad(n::text, 16, '0'), 't' || n, 'ios', 'expo', now(), now(),
                       now()
                FROM generate_series(3, 7) n
                """
            _ = try await servers.owner.run(Statement(devices), [])
            let running = try await servers.addFanout("e1", topic: nil, users: 2, plannedTo: "r2")
            let text = await prompt.run("fanouts", "show", "\(running)").output
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let count =
                "everyone in venues is 3 users now, each with a stored recipient.upserted; 4 other users with a "
                + "device have none"
            #expect(text.contains("everyone \(count)"), "\(text)")
            #expect(text.contains("users 2 of about 3 on complete pages, 2 new notifications"), "\(text)")
            #expect(text.contains("sent to 0 users; with the pages in progress"), "\(text)")
            let json = await prompt.run("fanouts", "show", "\(running)", "--json").output
            let members = #""everyoneNow":{"app":"venues","users":3,"usersIsCapped":false,"others":4,"#
            #expect(json.contains(members), "\(json)")
            let ended = try await servers.addFanout("e2", state: .finished, users: 2)
            let other = await prompt.run("fanouts", "show", "\(ended)").output
            #expect(!other.contains("everyone") && !other.contains("complete pages"), "\(other)")
        }
    }

    @Test("the list names a finished fan-out whose pushes still wait, since only a stop keeps them back")
    func waitingAfterEnd() async throws {
        try await Self.with { prompt, servers in
            _ = try await servers.addFanout("e1", state: .finished, users: 3)
            _ = try await servers.addFanout("e2", state: .finished, users: 3)
            _ = try await servers.addFanout("e3", users: 3)
            let before = await prompt.run("fanouts").output
            #expect(!before.contains("pushes wait"), "\(before)")
            try await servers.addHeld(of: "e1", to: ["u1", "u2", "u3"])
            try await servers.addHeld(of: "e3", to: ["u4"])
            let list = await prompt.run("fanouts").output.split(separator: "\n")
            #expect(list.filter { $0.contains("pushes wait") }.count == 1, "\(list)")
            #expect(list.contains { $0.contains("finished, pushes wait") }, "\(list)")
            let json = await prompt.run("fanouts", "--json").output
            #expect(json.contains(#""event":"e1""#) && json.contains(#""pushesWait":true"#), "\(json)")
            #expect(json.contains(#""pushesWait":false"#), "\(json)")
            // A push that waits for another attempt is in no backlog.
            try await servers.addOutcome(of: "e2", to: "u5", state: "retrying", reason: "UNAVAILABLE")
            _ = try await servers.owner.run("UPDATE ledger SET due_at = now() + interval '5 min' WHERE state = 'r'")
            let later = await prompt.run("fanouts").output.split(separator: "\n")
            #expect(later.filter { $0.contains("finished, pushes wait") }.count == 2, "\(later)")
        }
    }

    @Test("a fan-out's held deliveries are shown with the hold's number, in the list too, and later the discarded ones")
    func held() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 3)
            _ = try await servers.addFanout("e2", state: .finished, users: 3)
            let why = ["--by", "ada", "--because", "wrong campaign"]
            try await servers.holdVenues(because: "wrong campaign")
            let empty = await prompt.run("fanouts", "show", "\(number)")
            #expect(!empty.output.contains("waits"), "\(empty.output)")
            try await servers.addHeld(of: "e1", to: ["u1", "u2", "u3"])
            let held = await prompt.run("fanouts", "show", "\(number)").output
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(held.contains("state finished, held"), "\(held)")
            let waiting = "3 deliveries of this fan-out wait: bellhop hold discard 1 --event e1 ends them"
            #expect(held.contains(waiting), "\(held)")
            #expect(held.contains("pushes 0 sent to 0 users"), "\(held)")
            let list = await prompt.run("fanouts").output.split(separator: "\n")
            #expect(list.filter { $0.contains("finished, held") }.count == 1, "\(list)")
            let discarded = await prompt.run(["hold", "discard", "1", "--event", "e1", "--yes"] + why)
            #expect(discarded.code == .done, "\(discarded.output)\(discarded.complaints)")
            let after = await prompt.run("fanouts", "show", "\(number)").output
            #expect(after.contains("ada: discarded 3 held deliveries, wrong campaign"), "\(after)")
            #expect(!after.contains("waits"), "\(after)")
        }
    }

    @Test("show names the backlogs of a finished fan-out's app, without those of other types and those behind a hold")
    func finishedBacklogs() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 3)
            for (user, outlet) in [("u1", "venues/fcm"), ("u2", "venues/apns//other"), ("u3", "drop/fcm")] {
                _ = try await servers.owner.run(
                    """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
                    VALUES (split_part($2, '/', 1), $1, 'n', 'push', 'a', 'deferred', $2, now())
                    """,
                    [.text(user), .text(outlet)]
                )
            }
            let shown = await prompt.run("fanouts", "show", "\(number)").output
            let flat = shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(flat.contains("waits The backlog of venues/fcm contains 1 delivery"), "\(shown)")
            #expect(!flat.contains("other ") || !flat.contains("venues/apns"), "\(shown)")
            #expect(!flat.contains("drop/fcm"), "\(shown)")
            #expect(!flat.contains("planned so far"), "\(shown)")
            let hold =
                "INSERT INTO holds (app, type, provider, operator, because) VALUES ('venues', $1, '', 'ada', 'x')"
            _ = try await servers.owner.run(Statement(hold), [.text("opportunity")])
            let partly = await prompt.run("fanouts", "show", "\(number)").output
            let exception = "sent as the provider has capacity, except deliveries behind a hold."
            let words = partly.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(words.contains("The backlog of venues/fcm") && words.contains(exception), "\(partly)")
            try await servers.holdVenues(because: "wrong campaign")
            let held = await prompt.run("fanouts", "show", "\(number)").output
            #expect(!held.contains("venues/fcm contains"), "\(held)")
        }
    }

    @Test("show explains why a running fan-out is stalled: its lane, its scheduler or its provider")
    func obstacles() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let number = try await servers.addFanout("e1", planned: [false])
                _ = try await servers.owner.run(
                    "UPDATE fanouts SET worked_at = now() - interval '10 min', resumed_at = now() - interval '1 h'"
                )
                _ = try await servers.owner.run(
                    """
                    INSERT INTO breakers (app, provider, reason, probe_at) VALUES ('venues', 'fcm', 'wrong-key', now())
                    """
                )
                _ = try await servers.owner.run(
                    """
                    INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
                    VALUES ('venues', 'u', 'n', 'push', 'a', 'deferred', 'venues/fcm', now())
                    """
                )
                let idle = await prompt.run("fanouts", "show", "\(number)").output
                    .split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
                #expect(idle.contains("No worker serves the normal lane"), "\(idle)")
                #expect(idle.contains("fcm refuses venues, wrong-key"))
                #expect(
                    idle.contains("The backlog of venues/fcm contains 1 delivery,")
                )
                #expect(idle.contains("running, stalled"))
                _ = try await servers.owner.run("UPDATE fanout_pages SET handed_over_at = NULL")
                let unhanded = await prompt.run("fanouts", "show", "\(number)").output
                #expect(unhanded.contains("Its pages are not released"))
                let status = await prompt.run("status").output
                #expect(status.contains("has been stalled for 10 min"))
            }
        }
    }

    @Test("a fan-out without a complete page for some seconds states that, and that the broker cannot be reached")
    func brokerAway() async throws {
        try await Self.with { prompt, servers in
            try await servers.addWorker()
            try await servers.addFollowers(100)
            let number = try await servers.addFanout("e1", users: 60, plannedTo: "u00060", planned: [false])
            _ = try await servers.owner.run("UPDATE fanouts SET worked_at = now() - interval '20 s'", [])
            let away = prompt.with("BELLHOP_AMQP_URL", "amqp://127.0.0.1:1")
            let shown = await away.run("fanouts", "show", "\(number)").output
            let flat = shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(flat.contains("rate none: no page was completed for "), "\(shown)")
            #expect(flat.contains("waits It waits for the broker, which cannot be reached: "), "\(shown)")
            let list = await prompt.run("fanouts", "--json").output
            #expect(list.contains(#""usersPerSecond":null,"secondsLeft":null"#), "\(list)")
            #expect(!list.contains(#""stillSeconds":null"#), "\(list)")
        }
    }

    @Test("pause, resume and cancel require a selection, a count and a reason, and a dry run changes nothing")
    func acts() async throws {
        try await Self.with { prompt, servers in
            let first = try await servers.addFanout("e1")
            _ = try await servers.addFanout("e2")
            let states = "SELECT event_id || ' ' || state FROM fanouts ORDER BY 1"
            let everything = await prompt.run(["fanouts", "cancel"] + Self.agreed)
            #expect(everything.code == .usage)
            #expect(everything.complaints.contains("requires a fan-out number or a filter"))
            let silent = await prompt.run("fanouts", "cancel", "\(first)", "--yes")
            #expect(silent.complaints.contains("--because is required"))
            let bare = await prompt.run("fanouts", "cancel", "\(first)", "--because", "x")
            let refusal =
                "bellhop: cancelling 1 fan-out: this needs consent, and there is no terminal to ask for it; add --yes"
            #expect(bare.code == .usage)
            #expect(bare.complaints.hasPrefix(refusal), "\(bare.complaints)")
            let dry = await prompt.run("fanouts", "pause", "--app", "venues", "--dry-run")
            #expect(dry.output.hasPrefix("This would pause 2 fan-outs; nothing was changed."))
            let untouched = try await servers.column(states)
            #expect(untouched == ["e1 running", "e2 running"])
            let typed = await prompt.typing(["2", "a flood"]).run("fanouts", "pause", "--app", "venues")
            #expect(typed.output.hasPrefix("Paused 2 fan-outs.\nPushes of notifications"), "\(typed.complaints)")
            let resumed = await prompt.run(["fanouts", "resume", "\(first)", "--json"] + Self.agreed)
            #expect(resumed.output == #"{"fanouts":1}"#)
            let again = await prompt.run(["fanouts", "resume", "\(first)"] + Self.agreed)
            #expect(again.code == .answerIsNo)
            let words = "No paused fan-outs match.\nFan-out \(first) is running."
            #expect(again.output == words)
            let cancelled = await prompt.run(["fanouts", "cancel", "--event", "e2"] + Self.agreed)
            #expect(cancelled.output.contains("Cancelled 1 fan-out.\nPushes of notifications"), "\(cancelled.output)")
            #expect(cancelled.output.contains("unless a hold stops them: bellhop hold add."), "\(cancelled.output)")
            let changed = try await servers.column(states)
            #expect(changed == ["e1 running", "e2 cancelled"])
            let audit = await prompt.run("dead-letters", "audit").output
            #expect(audit.contains("fanout-cancel"))
            #expect(audit.contains("event e2"))
        }
    }

    @Test("one fan-out is paused before its reason is asked for, and the audit gets the reason afterwards")
    func pausedAtOnce() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1")
            let silent = await prompt.run("fanouts", "pause", "\(number)")
            #expect(silent.output.hasPrefix("Paused 1 fan-out."), "\(silent.complaints)")
            _ = await prompt.run(["fanouts", "resume", "\(number)"] + Self.agreed)
            let asked = await prompt.typing(["wrong prices"]).run("fanouts", "pause", "\(number)")
            #expect(asked.output.hasPrefix("Paused 1 fan-out."), "\(asked.complaints)")
            let acts = try await servers.column("SELECT act || ': ' || because FROM audit ORDER BY number")
            #expect(acts.first == "fanout-pause: no reason given yet")
            #expect(acts.suffix(2) == ["fanout-pause: no reason given yet", "fanout-note: wrong prices"])
            let shown = await prompt.run("fanouts", "show", "\(number)").output
            #expect(shown.contains("note, wrong prices"), "\(shown)")
        }
    }

    @Test("stop pauses a fan-out and holds its type in one act, and resume --release takes both back")
    func stopped() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", users: 3, planned: [true, true, false])
            let why = ["--by", "ada", "--because", "wrong prices"]
            let stopped = await prompt.run(["fanouts", "stop", "\(number)", "--json"] + why)
            #expect(stopped.code == .done, "\(stopped.complaints)")
            let start =
                #"{"fanout":\#(number),"state":"paused","paused":true,"pagesInProgress":2,"hold":{"hold":1,"app":"venues""#
            #expect(stopped.output.hasPrefix(start), "\(stopped.output)")
            let holds = try await servers.column("SELECT app || ' ' || type || ' ' || because FROM holds")
            #expect(holds == ["venues opportunity wrong prices"])
            let again = await prompt.run(["fanouts", "stop", "\(number)"] + why).output
            let pages = """
                Fan-out \(number) was paused already. It begins no further page. 2 pages in progress may still be recorded, \
                up to 1,000 users each; their pushes wait behind hold 1. If no other page is left, it then ends as \
                finished.
                Hold 1 stops all pushes of venues, type opportunity, also of other events.
                """
            #expect(again.hasPrefix(pages), "\(again)")
            #expect(again.contains("bellhop hold discard 1 --event e1"), "\(again)")
            #expect(again.contains("bellhop fanouts resume \(number) --release"), "\(again)")
            #expect(again.contains("a release also sends what waited before"), "\(again)")
            let back = await prompt.run(["fanouts", "resume", "\(number)", "--release", "--yes"] + why).output
            #expect(back.contains("Resumed 1 fan-out."), "\(back)")
            #expect(back.contains("Released hold 1"), "\(back)")
            let left = try await servers.column("SELECT state FROM fanouts UNION ALL SELECT type FROM holds")
            #expect(left == ["running"])
            let acts = try await servers.column("SELECT act FROM audit ORDER BY number")
            #expect(acts == ["hold-add", "fanout-pause", "fanout-stop", "fanout-resume", "hold-release"])
        }
    }

    @Test(
        "show of a stopped fan-out has the command that undoes the stop, and of a paused one the command that resumes it"
    )
    func undo() async throws {
        try await Self.with { prompt, servers in
            let (stopped, paused) = (try await servers.addFanout("e1"), try await servers.addFanout("e2"))
            let why = ["--by", "ada", "--because", "wrong prices"]
            _ = await prompt.run(["fanouts", "pause", "\(paused)"] + why)
            let before = await prompt.run("fanouts", "show", "\(paused)").output
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let resume = "wrong prices. bellhop fanouts resume \(paused) continues it, cancel \(paused) ends it."
            #expect(before.contains(resume), "\(before)")
            _ = await prompt.run(["fanouts", "stop", "\(stopped)"] + why)
            let after = await prompt.run("fanouts", "show", "\(stopped)").output
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let release = "bellhop fanouts resume \(stopped) --release continues it and releases its hold"
            #expect(after.contains(release), "\(after)")
        }
    }

    @Test("resume --release states how many deliveries behind the hold are of the fan-out's event")
    func releasedOfOthers() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", users: 3)
            let why = ["--by", "ada", "--because", "wrong prices"]
            _ = await prompt.run(["fanouts", "stop", "\(number)"] + why)
            try await servers.addHeld(of: "e1", to: ["u1", "u2"])
            try await servers.addHeld(of: "e2", to: (3...11).map { "u\($0)" })
            let dry = await prompt.run(["fanouts", "resume", "\(number)", "--dry-run", "--release"] + why).output
            let words = "11 deliveries to 11 users, 2 of this event"
            #expect(dry.contains("This would release hold 1 and send \(words)."), "\(dry)")
            let bare = await prompt.run(["fanouts", "resume", "\(number)", "--release"] + why)
            let held = "held by venues, type opportunity (ada: wrong prices)"
            let question = "bellhop: resuming 1 fan-out together with \(words), \(held): "
            #expect(bare.complaints.hasPrefix(question), "\(bare.complaints)")
            let acts = try await servers.column("SELECT act FROM audit ORDER BY number")
            #expect(acts == ["hold-add", "fanout-pause"], "without consent, the fan-out is not resumed")
            let back = await prompt.run(["fanouts", "resume", "\(number)", "--release", "--yes"] + why).output
            #expect(back.contains("Released hold 1; now sent: \(words)."), "\(back)")
        }
    }

    @Test("resume --release of a finished fan-out releases the hold of its campaign")
    func releasedWhenFinished() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 3)
            try await servers.addOutcome(of: "e1", to: "u1", state: "retrying", reason: "UNAVAILABLE")
            let why = ["--by", "ada", "--because", "wrong prices"]
            let stopped = await prompt.run(["fanouts", "stop", "\(number)"] + why).output
            #expect(stopped.contains("To end it: bellhop hold discard 1 --event e1"), "\(stopped)")
            #expect(!stopped.contains("a release also sends"), "\(stopped)")
            let dry = await prompt.run(["fanouts", "resume", "\(number)", "--dry-run", "--release"] + why)
            #expect(dry.code == .done)
            #expect(
                dry.output.contains("This would release hold 1 and send 0 deliveries to 0 users, 0 of this event."),
                "\(dry.output)"
            )
            #expect(try await servers.column("SELECT type FROM holds") == ["opportunity"])
            let back = await prompt.run(["fanouts", "resume", "\(number)", "--release", "--yes"] + why)
            #expect(back.code == .done, "\(back.complaints)")
            #expect(back.output.contains("Released hold 1"), "\(back.output)")
            #expect(try await servers.column("SELECT type FROM holds") == [])
            let none = await prompt.run(["fanouts", "resume", "\(number)", "--release", "--yes"] + why)
            #expect(none.code == .answerIsNo)
        }
    }

    @Test("stop of a fan-out whose pushes all have an outcome reports that, and a repeated stop is in the audit")
    func tooLate() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 3)
            for user in ["u1", "u2"] {
                try await servers.addOutcome(of: "e1", to: user, state: "delivered", reason: nil)
            }
            let why = ["--by", "ada", "--because", "wrong prices"]
            let late = await prompt.run(["fanouts", "stop", "\(number)"] + why)
            #expect(late.code == .done, "\(late.complaints)")
            let words = """
                Nothing is left to stop: the fan-out has finished, and none of its pushes waits: 2 were sent. Hold 1 stops \
                other events of this type: release it unless they are wrong, too.
                """
            #expect(late.output.hasPrefix(words), "\(late.output)")
            #expect(late.output.contains("bellhop hold release 1 releases it."), "\(late.output)")
            #expect(!late.output.contains("To end it:"), "\(late.output)")
            let again = await prompt.run(["fanouts", "stop", "\(number)", "--json"] + why).output
            #expect(again.contains(#""tooLate":"Nothing is left to stop"#), "\(again)")
            let acts = try await servers.column("SELECT act || ' ' || (filter ->> 'hold') FROM audit ORDER BY number")
            #expect(acts == ["hold-add 1", "fanout-stop 1"])
            try await servers.addOutcome(of: "e1", to: "u3", state: "retrying", reason: "UNAVAILABLE")
            let inTime = await prompt.run(["fanouts", "stop", "\(number)", "--json"] + why).output
            #expect(inTime.contains(#""tooLate":null"#), "\(inTime)")
        }
    }

    @Test("a finished fan-out of which at least half of the attempted pushes failed shows their number")
    func failures() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 4)
            for user in ["u1", "u2"] {
                try await servers.addOutcome(of: "e1", to: user, state: "delivered", reason: nil)
            }
            try await servers.addOutcome(of: "e1", to: "u3", state: "failed", reason: "UNREGISTERED")
            try await servers.addOutcome(of: "e1", to: "u4", state: "suppressed", reason: "type-muted")
            let few = await prompt.run("fanouts", "show", "\(number)").output
            #expect(!few.contains("pushes failed"), "\(few)")
            try await servers.addOutcome(of: "e1", to: "u5", state: "failed", reason: "UNREGISTERED")
            let half = await prompt.run("fanouts", "show", "\(number)").output
            #expect(half.contains("finished, 2 of 4 pushes failed"), "\(half)")
            let json = await prompt.run("fanouts", "show", "\(number)", "--json").output
            #expect(json.contains(#""failed":2,"failureWords":"2 of 4 pushes failed""#), "\(json)")
        }
    }

    @Test("a reason that is given after stop is the reason of the hold and of the pause, and cancel names the hold")
    func reasonAfterStop() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", users: 3)
            _ = await prompt.typing(["wrong prices"]).run("fanouts", "stop", "\(number)")
            #expect(try await servers.column("SELECT because FROM holds") == ["wrong prices"])
            let shown = await prompt.run("fanouts", "show", "\(number)").output
            #expect(shown.contains(": wrong prices"), "\(shown)")
            let why = ["--yes", "--by", "ada", "--because", "recalled"]
            let ended = await prompt.run(["fanouts", "cancel", "\(number)"] + why).output
            #expect(ended.contains("wait behind hold 1; bellhop hold discard 1"), "\(ended)")
        }
    }

    /// The answer of `list-users`.
    private struct UserList: Decodable {
        struct User: Decodable {
            let user: String
        }

        let fanout: Int64
        let users: [User]
        let count: Int
    }

    @Test("list-users names exactly the users with a notification of the fan-out, and show counts their deliveries")
    func users() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 4)
            _ = try await servers.addFanout("e2", state: .finished, users: 1)
            let outcomes: [(String, String, String, String?)] = [
                ("u1", "e1", "delivered", nil), ("u2", "e1", "suppressed", "discarded"),
                ("u3", "e1", "failed", "UNREGISTERED"), ("u4", "e1", "deferred", "held"),
                ("u5", "e2", "delivered", nil),
            ]
            for (user, event, state, reason) in outcomes {
                try await servers.addOutcome(of: event, to: user, state: state, reason: reason)
            }
            let all = await prompt.run("fanouts", "list-users", "\(number)", "--json")
            let listed = try JSONDecoder().decode(UserList.self, from: Data(all.output.utf8))
            #expect(listed.fanout == number && listed.count == 4, "\(all.output)")
            #expect(listed.users.map(\.user) == ["u1", "u2", "u3", "u4"])
            let sent = await prompt.run("fanouts", "list-users", "\(number)", "--sent").output
            #expect(sent.contains(" u1") && sent.hasSuffix("1 user."), "\(sent)")
            let shown = await prompt.run("fanouts", "show", "\(number)", "--json").output
            #expect(shown.contains(#""sent":1"#) && shown.contains(#""dueImmediately":4"#), "\(shown)")
            let counts = #""results":{"users":4,"usersSent":1,"sent":1,"waiting":1,"discarded":1,"notSent":1,"#
            #expect(shown.contains(counts), "\(shown)")
            let reasons = #""waitingReasons":{"held":1},"notSentReasons":{"UNREGISTERED":1},"mayHaveArrived":0,"#
            #expect(shown.contains(reasons), "\(shown)")
            let words = await prompt.run("fanouts", "show", "\(number)").output
            let text = words.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let results =
                "pushes 1 sent to 1 user, 1 still waiting (1 released from a hold), 1 discarded, 1 not sent "
                + "(1 UNREGISTERED)"
            #expect(text.contains(results), "\(words)")
            try await servers.holdVenues(because: "wrong campaign")
            _ = try await servers.owner.run(
                "UPDATE ledger SET outlet = 'venues/fcm', queued_at = now() WHERE state = 'w'"
            )
            let held = await prompt.run("fanouts", "show", "\(number)").output
            #expect(held.contains("1 still waiting (1 held)"), "\(held)")
            _ = try await servers.owner.run(
                "UPDATE ledger SET state = 's', reason = NULL, outlet = NULL, queued_at = NULL WHERE state = 'd'"
            )
            try await servers.addWorker()
            let sending = await prompt.run("fanouts", "show", "\(number)").output
            #expect(sending.contains("2 still waiting (1 being sent, 1 held)"), "\(sending)")
            let nobody = await prompt.run("fanouts", "list-users", "--event", "e9")
            #expect(nobody.complaints.contains("unknown fan-out"))
        }
    }

    @Test("an action on a finished fan-out, named by its number or its event, names the remedy for its unsent pushes")
    func finished() async throws {
        try await Self.with { prompt, servers in
            let number = try await servers.addFanout("e1", state: .finished, users: 3)
            for selection in [["\(number)"], ["--event", "e1"]] {
                let answer = await prompt.run(["fanouts", "pause"] + selection + Self.agreed)
                #expect(answer.code == .answerIsNo)
                let words = """
                    No running fan-outs match.
                    Fan-out \(number) is finished: all its records are in the app. Only a hold stops its unsent pushes: \
                    bellhop hold add.
                    """
                #expect(answer.output == words)
            }
            let resumed = await prompt.run(["fanouts", "resume", "\(number)"] + Self.agreed).output
            #expect(resumed.hasSuffix("is finished: all its records are in the app."), "\(resumed)")
            try await servers.holdVenues(because: "wrong campaign")
            for act in ["pause", "resume"] {
                let held = await prompt.run(["fanouts", act, "\(number)"] + Self.agreed).output
                #expect(held.contains("Hold 1 (venues"), "\(held)")
                #expect(
                    held.contains(
                        "bellhop hold discard 1 --event e1 ends them, bellhop hold release 1 sends them."
                    ),
                    "\(held)"
                )
                #expect(!held.contains("hold add"), "\(held)")
            }
        }
    }

    @Test("unknown verbs, numbers and options are usage errors")
    func misuse() async throws {
        try await Self.with { prompt, _ in
            let help = await prompt.run("fanouts", "pause", "--help")
            #expect(help.output.contains("For example:\n  bellhop fanouts pause 12"), "\(help.output)")
            #expect(!help.output.contains("--state"), "what it does not take")
            let brake = await prompt.run("hold", "discard", "--help")
            #expect(brake.output.contains("For example:\n  bellhop hold discard 3"), "\(brake.output)")
            let verb = await prompt.run("fanouts", "puase")
            #expect(verb.code == .usage)
            #expect(verb.complaints.contains("did you mean pause?"))
            #expect(await prompt.run("fanouts", "show", "venue:1").code == .usage)
            #expect(await prompt.run("fanouts", "list", "--yes").code == .usage)
            #expect(await prompt.run("fanouts", "list", "--state", "busy").code == .usage)
        }
    }

    @Test("status shows the number of running and paused fan-outs and the progress of the latest")
    func status() async throws {
        try await ServerFixture.withTopology { servers in
            try await servers.addFollowers(100)
            _ = try await servers.addFanout("e1", users: 60, plannedTo: "u00060")
            _ = try await servers.addFanout("e2", state: .paused)
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let text = await prompt.run("status").output
                let lines = text.split(separator: "\n").map { line in
                    line.split(separator: " ").joined(separator: " ")
                }
                #expect(lines.contains("fan-outs 1 running, 1 paused"), "\(text)")
                #expect(text.contains("60 of about 100"))
                let json = await prompt.run("status", "--json").output
                #expect(json.contains(#""fanouts":{"running":1,"paused":1,"latest":["#))
            }
        }
    }

    @Test("a paused fan-out is a problem of status, with the commands that continue and cancel it")
    func statusOfPaused() async throws {
        try await ServerFixture.withTopology { servers in
            try await servers.addFollowers(100)
            let number = try await servers.addFanout("e1", state: .paused, users: 60, plannedTo: "u00060")
            for other in 2...6 { _ = try await servers.addFanout("e\(other)") }
            _ = try await servers.owner.run(
                "UPDATE fanouts SET paused_at = now() - interval '200 min' WHERE state = 'paused'"
            )
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let problem =
                    "fan-out \(number) of venues, event e1, has been paused for 3 h, 40 users are left: "
                    + "bellhop fanouts resume \(number) continues it, cancel \(number) ends it"
                let text = await prompt.run("status").output
                let words = text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
                #expect(words.contains("! \(problem)"), "\(text)")
                let json = await prompt.run("status", "--json").output
                #expect(json.contains("\"\(problem)\""), "\(json)")
                _ = try await servers.owner.run(
                    "INSERT INTO holds (app, type, operator, because) VALUES ('venues', 'opportunity', 'bo', 'a flood')"
                )
                let stopped = await prompt.run("status", "--json").output
                let release = "fanouts resume \(number) --release continues it and releases hold 1, cancel"
                #expect(stopped.contains(release), "\(stopped)")
                let resumed = await prompt.run(["fanouts", "resume", "\(number)"] + Self.agreed).output
                let flat = resumed.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                let held =
                    "Its pushes wait behind hold 1 (venues, type opportunity): bellhop hold release 1 sends them."
                #expect(flat.contains(held), "\(resumed)")
                _ = try await servers.owner.run(
                    "UPDATE fanouts SET state = 'paused', paused_at = now() - interval '50 h', trouble = 'unknown-type'"
                )
                let all = await prompt.run("status", "--json").output
                #expect(all.contains("has been paused for 2 d (unknown-type), 100 users are left"), "\(all)")
                #expect(all.contains("1 other fan-out is paused: bellhop fanouts list --state paused"), "\(all)")
            }
        }
    }

    private static let agreed = ["--yes", "--by", "ada", "--because", "a flood"]

    private static func with(_ body: @escaping @Sendable (Prompt, ServerFixture) async throws -> Void) async throws {
        try await DeadLetterPrompt.with([], body)
    }
}

/// The member names on which scripts rely.
private struct PrintedFanouts: Decodable {
    let count: Int
    let fanouts: [PrintedFanout]
}

private struct PrintedFanout: Decodable {
    struct Page: Decodable { let page: Int }
    struct Act: Decodable { let act: String }

    let event: String
    let state: String
    let lane: String
    let users: Int
    let usersEstimated: Int?
    let openPages: [Page]?
    let acts: [Act]?
    let waits: [String]?
}
