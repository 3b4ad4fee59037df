import AMQP
import CommandLineSupport
import Foundation
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Dead-letter exports",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct ExportTests {
    @Test("an import restores exported dead letters byte for byte, even in another database")
    func roundTrip() async throws {
        let body = String(decoding: [0x7B, 0x22, 0xC3, 0xA6, 0x01], as: UTF8.self)
        let letters = [
            DeadLetterSamples.rejected("a", body: body), DeadLetterSamples.rejected("b", reason: "missing-id"),
            DeadLetterSamples.delivery(try DeadLetterSamples.key(user: "u1")),
        ]
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("export")).path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await DeadLetterPrompt.with(letters) { prompt, servers in
            let answer = await prompt.run("dead-letters", "export", "--output", file, "--because", "to keep")
            #expect(answer.output == "Wrote 3 items to \(file).", "\(answer.complaints)")
            let rights = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(rights == 0o600)
            let marked = try await servers.count("SELECT count(*) FROM dead_letters WHERE exported_at IS NOT NULL")
            #expect(marked == 3)
            let twice = await prompt.run("dead-letters", "export", "--output", file, "--because", "x")
            #expect(twice.complaints.contains("the file is there already"))
            let known = await prompt.run("dead-letters", "import", file, "--because", "x")
            #expect(known.output == "Imported 0 items; 3 were there already.")
            let before = try await servers.column(Self.everything)
            _ = try await servers.owner.run("DELETE FROM dead_letters")
            let back = await prompt.run("dead-letters", "import", file, "--because", "moved house")
            #expect(back.output == "Imported 3 items; 0 were there already.", "\(back.complaints)")
            let after = try await servers.column(Self.everything)
            #expect(after == before)
            let acts = try await servers.column("SELECT act || ' ' || items FROM audit ORDER BY number")
            #expect(acts == ["export 3", "import 3", "import 3"])
        }
    }

    @Test("dead letters that failed too long ago are not imported, since the erasures of their users may be unknown")
    func tooOld() async throws {
        let old = DeadLetterSamples.rejected("old", failedAt: DeadLetterSamples.ago(40 * 86_400))
        try await DeadLetterPrompt.with([old, DeadLetterSamples.rejected("young")]) { prompt, servers in
            let lines = await prompt.run("dead-letters", "export", "--because", "x").output
            _ = try await servers.owner.run("DELETE FROM dead_letters")
            var input = prompt
            input.input = lines
            let answer = await input.run("dead-letters", "import", "-", "--because", "x")
            #expect(answer.code == .done, "\(answer.complaints)")
            #expect(answer.output.contains("Imported 1 item; 0 were there already."))
            #expect(answer.output.contains("1 item failed first more than 30d ago and stay"))
            let items = try await servers.column("SELECT dead_id FROM dead_letters")
            #expect(items == ["young"])
            _ = try await servers.owner.run("DELETE FROM dead_letters")
            _ = try await servers.owner.run("INSERT INTO retired VALUES ('tombstones', now())")
            let none = await input.run("dead-letters", "import", "-", "--because", "x")
            #expect(none.code == .answerIsNo)
            #expect(none.output.contains("Imported 0 items"))
        }
    }

    @Test("a file that is not an export is rejected completely, with the line")
    func foreign() async throws {
        try await DeadLetterPrompt.with([DeadLetterSamples.rejected("a")]) { prompt, servers in
            let line = await prompt.run("dead-letters", "export", "--because", "x")
            #expect(line.code == .done)
            _ = try await servers.owner.run("DELETE FROM dead_letters")
            var input = prompt
            input.input = line.output + "\n{\"id\":\"x\"}\n"
            let answer = await input.run("dead-letters", "import", "-", "--because", "x")
            #expect(answer.code == .badInput)
            #expect(answer.complaints.contains("line 2"))
            let count = try await servers.count("SELECT count(*) FROM dead_letters")
            #expect(count == 0)
        }
    }

    @Test(
        "without the database, list, export and replay use the broker's queue, and messages that do not match stay"
    )
    func fromQueue() async throws {
        try await ServerFixture.withTopology { servers in
            let publisher = Publisher(PublisherOptions(broker: try servers.broker, name: "test"))
            publisher.start()
            let good = #"{"id":"g1","app":"drop","eventType":"system","to":{"user":"u1"},"title":"t","body":"b"}"#
            let letters = ["one", "two"].map { id in
                var properties = MessageProperties(contentType: "application/json")
                properties.headers = [
                    "x-bellhop-dead-id": .string(id),
                    "x-bellhop-reason": .string(id == "one" ? "unknown-type" : "too-large"),
                    "x-bellhop-stage": "intake", "x-bellhop-error": "it was so", "tenant": "blue",
                ]
                return OutgoingMessage(
                    exchange: servers.names.dead,
                    routingKey: servers.names.lane(.normal),
                    properties: properties,
                    body: Array(good.utf8)
                )
            }
            #expect(await publisher.publish(letters) == [.confirmed, .confirmed])
            await publisher.close()
            try await CommandFolder.withPrompt(on: servers) { full, _ in
                var prompt = full
                prompt.environment["BELLHOP_DATABASE_URL"] = nil
                let list = await prompt.run("dead-letters", "--from-queue", "list")
                #expect(list.code == .done, "\(list.complaints)")
                #expect(list.output.contains("one") && list.output.contains("two"))
                let export = await prompt.run("dead-letters", "--from-queue", "export", "--reason", "too-large")
                #expect(export.output.split(separator: "\n").count == 1)
                #expect(export.output.contains(#""id":"two""#))
                let replay = await prompt.run(
                    "dead-letters",
                    "replay",
                    "--from-queue",
                    "--reason",
                    "unknown-type",
                    "--yes"
                )
                #expect(replay.output == "Moved 1 message to \(servers.names.replay).", "\(replay.complaints)")
                let rest = await prompt.run("dead-letters", "list", "--from-queue", "--json")
                #expect(rest.output.contains(#""count":1"#), "\(rest.output)")
                #expect(rest.output.contains(#""id":"two""#))
                let audit = await prompt.run("dead-letters", "audit", "--from-queue")
                #expect(audit.code == .usage)
            }
            // With the database available again, the one message is consumed and the other is stored as a dead letter.
            try await PipelineFixture.on(servers) { pipeline in
                try await pipeline.wait(for: 1, "SELECT count(*) FROM notifications")
                try await pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters WHERE dead_id = 'two'")
            }
        }
    }

    private static let everything = """
        SELECT concat_ws('|', dead_id, state, stage, reason, error, provider, app, event_type, event_id, user_id,
            notification_id, target, attempts, deaths, first_failed_at, last_failed_at, fingerprint, properties, headers,
            encode(body, 'hex'), encode(content_hash, 'hex')) FROM dead_letters ORDER BY dead_id
        """
}
