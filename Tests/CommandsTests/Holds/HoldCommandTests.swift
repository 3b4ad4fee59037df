import CommandLineSupport
import Foundation
import IntegrationSupport
import Store
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop hold", .limitedConcurrency, .enabled(if: BothServers.isThere, BothServers.absence), .timeLimit(.ofTest))
struct HoldCommandTests {
    private static let why = ["--by", "ada", "--because", "the wrong campaign"]

    private static func with(_ body: @escaping @Sendable (Prompt, ServerFixture) async throws -> Void) async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in try await body(prompt, servers) }
        }
    }

    /// Puts a delivery of one type into a backlog for each user.
    private static func fill(_ servers: ServerFixture, _ type: String, _ users: [String], _ outlet: String) async throws
    {
        for user in users {
            _ = try await servers.owner.run(
                """
                INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority)
                VALUES ('drop', $1, $2 || '-' || $1, $2 || '-1', '', $2, 't', 'b', 'normal')
                """,
                [.text(user), .text(type)]
            )
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, reason, outlet, queued_at)
                VALUES ('drop', $1, $2 || '-' || $1, 'push', 'sub_0000000000000001', 'deferred',
                        'held', $3, now())
                """,
                [.text(user), .text(type), .text(outlet)]
            )
        }
    }

    @Test("add places a hold, list shows its deliveries, and release ends it, each with an exit code for scripts")
    func life() async throws {
        try await Self.with { prompt, servers in
            let nothing = await prompt.run("hold")
            #expect(nothing.code == .answerIsNo)
            #expect(nothing.output == "Nothing is held.")
            try await Self.fill(servers, "system", ["u1", "u2"], "drop/fcm//system")
            let added = await prompt.run(["hold", "add", "--app", "drop", "--type", "system"] + Self.why)
            #expect(added.code == .done, "\(added.complaints)")
            #expect(added.output.contains("Hold 1: drop, type system. Events are still recorded in the app"))
            #expect(added.output.contains("No worker runs; one that starts observes it from the first send."))
            let ways = "bellhop hold discard 1 [--event ID] ends them, bellhop hold release 1 sends them."
            #expect(added.output.contains("Deliveries behind it: 2. \(ways)"), "\(added.output)")
            let again = await prompt.run(["hold", "add", "--app", "drop", "--type", "system", "--json"] + Self.why)
            #expect(again.code == .done)
            #expect(again.output.hasPrefix(#"{"added":false,"hold":{"hold":1,"#))
            let list = await prompt.run("hold", "list")
            #expect(list.code == .done)
            for words in ["system", "all", "ada", "the wrong campaign"] { #expect(list.output.contains(words)) }
            let status = await prompt.run("status", "--json")
            #expect(status.output.contains(#""holds":[{"hold":1,"app":"drop","type":"system","provider":null"#))
            let text = await prompt.run("status")
            let flat = text.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(flat.contains("drop, type system has been held for"))
            let wait =
                "(ada: the wrong campaign); 2 deliveries wait and are not sent: bellhop hold shows what can be done"
            #expect(flat.contains(wait), "\(flat)")
            #expect(list.output.contains("bellhop hold release NUMBER sends them."))
            let other = await prompt.run(["hold", "release", "--app", "drop"] + Self.why)
            #expect(other.code == .answerIsNo)
            #expect(other.complaints.contains("active: 1 (drop, type system)"))
            let released = await prompt.run(["hold", "release", "1"] + Self.why)
            #expect(released.code == .done)
            #expect(
                released.output.contains("Now sent, whatever their event: 2 deliveries. Deliveries deferred"),
                "\(released.output)"
            )
        }
    }

    @Test("add names the workers that have not confirmed the hold in time, and counts the others")
    func confirmations() async throws {
        try await Self.with { prompt, servers in
            let book = HeartbeatStore(pool: servers.pool)
            for (id, holds) in [("w1", [1]), ("w2", [1]), ("w3", nil)] as [(String, [Int64]?)] {
                let own = Heartbeat.Identity(id: id, role: "worker", version: "0.1.0", host: "h-\(id)", process: 7)
                var report = Heartbeat(own, catalogs: "same")
                report.holds = holds
                try await book.announce(report)
            }
            _ = try await servers.owner.run("UPDATE processes SET seen_at = now() + interval '1 hour'")
            let partly = await prompt.run(["hold", "add", "--app", "drop", "--json"] + Self.why)
            #expect(partly.output.contains(#""workers":{"confirmed":2,"unconfirmed":["h-w3[7]"]}"#), "\(partly.output)")
            let again = await prompt.run(["hold", "add", "--app", "drop"] + Self.why)
            let words = "2 of 3 workers observed it within 5 s. h-w3[7] did not confirm, and may still send"
            #expect(again.output.contains(words), "\(again.output)")
            // A killed worker that its pool has replaced, before its heartbeat is old.
            var own = Heartbeat.Identity(id: "w4", role: "worker", version: "0.1.0", host: "h-w3", process: 8)
            own.predecessor = Heartbeat.Predecessor(process: 7, hungUntil: nil)
            var replacement = Heartbeat(own, catalogs: "same")
            replacement.holds = [1]
            try await book.announce(replacement)
            let replaced = await prompt.run(["hold", "add", "--app", "drop"] + Self.why)
            #expect(replaced.output.contains("All 3 workers observe it; no further"), "\(replaced.output)")
            try await book.leave("w3")
            try await book.leave("w4")
            let all = await prompt.run(["hold", "add", "--app", "drop"] + Self.why)
            #expect(all.output.contains("All 2 workers observe it; no further send begins."), "\(all.output)")
        }
    }

    @Test("a release of ten deliveries or more asks for their number, since it cannot be taken back")
    func manyReleased() async throws {
        try await Self.with { prompt, servers in
            try await Self.fill(servers, "system", (1...10).map { "u\($0)" }, "drop/fcm//system")
            _ = await prompt.run(["hold", "add", "--app", "drop", "--type", "system"] + Self.why)
            let bare = await prompt.run(["hold", "release", "1"] + Self.why)
            #expect(bare.code == .usage)
            let question =
                "sending 10 deliveries of all events to 10 users, held by drop, type system (ada: the wrong campaign)"
            #expect(bare.complaints.contains(question), "\(bare.complaints)")
            let wrong = await prompt.typing(["9"]).run(["hold", "release", "1"] + Self.why)
            #expect(wrong.code == .answerIsNo)
            #expect(wrong.output.hasSuffix("Nothing was changed."))
            let held = try await servers.count("SELECT count(*) FROM holds")
            #expect(held == 1)
            let released = await prompt.typing(["10"]).run(["hold", "release", "1"] + Self.why)
            #expect(released.output.contains("Now sent, whatever their event: 10 deliveries."), "\(released.output)")
        }
    }

    @Test("a release counts the claimed deliveries of fan-outs, which come back, except those of a discarded event")
    func claimed() async throws {
        try await Self.with { prompt, servers in
            for (event, count) in [("e1", 12), ("e2", 2)] {
                _ = try await servers.addFanout(event, state: .cancelled, users: count)
                for user in 1...count {
                    try await servers.addOutcome(of: event, to: "\(event)-\(user)", state: "sending", reason: nil)
                }
            }
            try await servers.holdVenues(because: "the wrong campaign")
            let bare = await prompt.run(["hold", "release", "1"] + Self.why)
            #expect(bare.code == .usage, "\(bare.output)")
            let question =
                "sending 0 deliveries of all events to 0 users, and 14 that workers had claimed before, held by venues"
            #expect(bare.complaints.contains(question), "\(bare.complaints)")
            _ = try await servers.owner.run(
                "INSERT INTO discarded_events (app, event_id, discarded_at) VALUES ('venues', 'e1', now())",
                []
            )
            let released = await prompt.run(["hold", "release", "1"] + Self.why)
            #expect(released.code == .done, "\(released.complaints)")
            let words = released.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let later = "2 deliveries of fan-outs have a claim and no outcome: those of a killed worker come back"
            #expect(words.contains(later), "\(released.output)")
        }
    }

    @Test("a hold with an unknown name is rejected, since it would hold nothing")
    func names() async throws {
        try await Self.with { prompt, _ in
            let wrong: [([String], String)] = [
                (["--app", "dorp"], "did you mean drop?"),
                (["--app", "drop", "--type", "sytem"], "did you mean system?"),
                (["--app", "drop", "--provider", "gcm"], "--provider takes one of"), ([], "--app is missing"),
                (["--app", "drop", "--provider", "apns"], "drop sends nothing through apns"),
                (["--app", "drop", "--type", ""], "--type needs a value"),
            ]
            for (words, why) in wrong {
                let answer = await prompt.run(["hold", "add"] + words + Self.why)
                #expect(answer.code == .usage)
                #expect(answer.complaints.contains(why), "\(answer.complaints)")
            }
            let stray = await prompt.run("hold", "list", "--yes")
            #expect(stray.code == .usage)
        }
    }

    @Test("a release reports deliveries that other holds keep, and a new hold reports the shared backlog")
    func overlaps() async throws {
        try await Self.with { prompt, servers in
            try await Self.fill(servers, "system", ["u1", "u2"], "drop/expo")
            let added = await prompt.run(["hold", "add", "--app", "drop", "--type", "system"] + Self.why)
            let words = "Workers are moving deliveries of this type from drop/expo behind it"
            #expect(added.output.contains(words), "\(added.output)")
            #expect(!added.output.contains("0 "), "\(added.output)")
            let list = await prompt.run("hold").output
            #expect(list.contains("at least 0"), "\(list)")
            let status = await prompt.run("status").output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(status.contains("; at least 0 deliveries (drop/expo may contain more) wait"), "\(status)")
            _ = await prompt.run(["hold", "add", "--app", "drop", "--provider", "expo"] + Self.why)
            _ = await prompt.run(["hold", "add", "--app", "drop"] + Self.why)
            let inside = await prompt.run(["hold", "release", "2"] + Self.why)
            #expect(
                inside.output.contains(
                    "Behind it: 2 deliveries, which other holds still stop: 1 (drop, type system); 3 (drop)."
                )
            )
            let last = await prompt.run(["hold", "release", "3"] + Self.why)
            #expect(last.output.contains("Now sent, whatever their event: 2 deliveries."), "\(last.output)")
            #expect(last.output.contains("These holds still apply: 1 (drop, type system)."))
            var blind = prompt
            blind.environment["BELLHOP_CATALOGS"] = nil
            let unchecked = await blind.run(["hold", "add", "--app", "dorp"] + Self.why)
            #expect(unchecked.code == .done)
            #expect(unchecked.complaints.contains("it was not checked that there is dorp"))
        }
    }

    @Test("a faulty catalogue prevents neither a hold nor an explanation")
    func faultyCatalogue() async throws {
        try await ServerFixture.withSchema { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, folder in
                let catalogs = folder.appendingPathComponent("broken")
                try FileManager.default.createDirectory(at: catalogs, withIntermediateDirectories: true)
                try Data("{app: 7}".utf8).write(to: catalogs.appendingPathComponent("drop.json5"))
                let prompt = prompt.with("BELLHOP_CATALOGS", catalogs.path)
                let held = await prompt.run(["hold", "add", "--app", "drop"] + Self.why)
                #expect(held.code == .done, "\(held.complaints)")
                #expect(held.complaints.contains("have a fault, so it was not checked"), "\(held.complaints)")
                let explained = await prompt.run("explain", "--app", "drop", "--user", "ada", "--event", "e1")
                #expect(explained.code == .answerIsNo, "\(explained.complaints)")
            }
        }
    }

    @Test("discard requires a hold, --dry-run shows the count, and the count must be typed without --yes")
    func discard() async throws {
        try await Self.with { prompt, servers in
            try await Self.fill(servers, "system", ["u1", "u2", "u3"], "drop/fcm")
            try await Self.fill(servers, "security", ["u1"], "drop/fcm")
            let free = await prompt.run(["hold", "discard", "--app", "drop", "--yes"] + Self.why)
            #expect(free.code == .answerIsNo)
            _ = await prompt.run(["hold", "add", "--app", "drop", "--type", "system"] + Self.why)
            let dry = await prompt.run("hold", "discard", "1", "--dry-run")
            #expect(dry.code == .done, "\(dry.complaints)")
            #expect(dry.output.contains("would discard 3 deliveries to 3 users"))
            let alone = await prompt.run(["hold", "discard", "1"] + Self.why)
            #expect(alone.code == .usage)
            let refused = await prompt.typing(["4"]).run(["hold", "discard", "1"] + Self.why)
            #expect(refused.output == "Nothing was changed.")
            let one = await prompt.run(
                ["hold", "discard", "1", "--event", "nosuch", "--yes"] + Self.why
            )
            #expect(one.code == .answerIsNo)
            let done = await prompt.typing(["3"]).run(["hold", "discard", "1"] + Self.why)
            #expect(done.code == .done, "\(done.complaints)")
            #expect(done.output.contains("Discarded 3 deliveries; hold 1 stays active."))
            let left = try await servers.column("SELECT DISTINCT state FROM deliveries WHERE outlet IS NOT NULL")
            let ended = try await servers.count("SELECT count(*) FROM deliveries WHERE reason = 'discarded'")
            #expect(left == ["deferred"])
            #expect(ended == 3)
        }
    }

    @Test("discard with an event counts the deliveries that are deferred, and names the release as the next step")
    func discardEvent() async throws {
        try await Self.with { prompt, servers in
            try await Self.fill(servers, "system", ["u1", "u2"], "drop/fcm")
            _ = try await servers.owner.run(
                """
                UPDATE deliveries SET outlet = NULL, queued_at = NULL, due_at = now() + interval '8 h',
                                      reason = 'quiet-hours'
                WHERE user_id = 'u2'
                """
            )
            _ = await prompt.run(["hold", "add", "--app", "drop", "--type", "system"] + Self.why)
            let found = try await servers.column("SELECT event_id FROM notifications LIMIT 1")
            let event = try #require(found.first ?? nil)
            let dry = await prompt.run("hold", "discard", "1", "--event", event, "--dry-run")
            let words = "1 delivery to 1 user and 1 delivery deferred for quiet hours, a digest or a retry"
            #expect(dry.output.contains("would discard \(words)"), "\(dry.output)\(dry.complaints)")
            let done = await prompt.run(["hold", "discard", "1", "--event", event, "--yes"] + Self.why)
            #expect(done.output.contains("Discarded 2 deliveries; hold 1 stays active."), "\(done.complaints)")
            #expect(done.output.contains("No delivery of this event waits any longer. If a worker was killed, the"))
            #expect(done.output.contains("bellhop hold release 1."))
            let audited = try await servers.column("SELECT act || ' ' || items FROM audit ORDER BY number DESC LIMIT 2")
            #expect(audited == ["hold-discarded 2", "hold-discard 2"])
            let rest = await prompt.run("hold", "discard", "1", "--event", event, "--dry-run")
            let flat = rest.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let warning = "cannot be recalled. If a worker was killed, the deliveries that it was sending come back"
            #expect(flat.contains(warning), "\(rest.output)")
            // Killed workers may have claimed every delivery of an event.
            let noted = "SELECT count(*) FROM discarded_events WHERE event_id = 'claimed'"
            let dryClaims = await prompt.run("hold", "discard", "1", "--event", "claimed", "--dry-run")
            let before = try await servers.count(noted)
            let claims = await prompt.run(["hold", "discard", "1", "--event", "claimed"] + Self.why)
            let after = try await servers.count(noted)
            #expect([before, after] == [0, 1] && [dryClaims.code, claims.code] == [.answerIsNo, .answerIsNo])
            let later = claims.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(later.contains("it was sending end as discarded when they come back"), "\(claims.complaints)")
            #expect(
                try await servers.column("SELECT items::text FROM audit ORDER BY number DESC LIMIT 2") == ["0", "0"]
            )
        }
    }
}
