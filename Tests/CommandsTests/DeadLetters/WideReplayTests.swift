import CommandLineSupport
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Commands

@Suite(
    "Replays of events for topics and for everyone",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, "needs both servers"),
    .timeLimit(.ofTest)
)
struct WideReplayTests {
    private static func event(_ id: String, _ audience: String) -> String {
        #"{"id":"\#(id)","to":\#(audience),"title":"t","body":"b"}"#
    }

    private static let topic = event("e1", #"{"topic":"team:kitchen"}"#)
    private static let everyone = event("e2", #"{"everyone":true}"#)

    @Test("a dry run predicts a fan-out, and whether it has an audience now")
    func dryRun() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            let recipient = "INSERT INTO recipients (app, user_id, source_time) VALUES ('drop', 'ada', now())"
            _ = try await pipeline.servers.owner.run(Statement(recipient), [])
            try await DeadLetterFixture.file([("topic", Self.topic), ("all", Self.everyone)], on: pipeline)
            let answer = await prompt.run("dead-letters", "replay", "--dry-run", "--json")
            #expect(answer.output.contains(#"{"prediction":"would-fan-out","detail":"no audience","count":1}"#))
            let other = #"{"prediction":"would-fan-out","detail":null,"count":1}"#
            #expect(answer.output.contains(other), "\(answer.output)")
            #expect(answer.output.contains(#""warning":null"#))
        }
    }

    @Test("a replay counts the users whom its fan-outs reached, and does not count them as recorded")
    func reach() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file([("topic", Self.topic)], on: pipeline)
            let name = "UPDATE dead_letters SET app = 'drop', event_id = 'e1'"
            _ = try await pipeline.servers.owner.run(Statement(name), [])
            let answer = await prompt.typing(["1", "it has an audience"]).run("dead-letters", "replay", "--all")
            #expect(answer.output.contains("fanned out, to 0 users"), "\(answer.output)")
            #expect(!answer.output.contains("recorded"), "\(answer.output)")
            try await pipeline.wait(for: 1, "SELECT count(*) FROM fanouts WHERE state = 'finished'")
            let shown = await prompt.run("dead-letters", "replays", "1")
            #expect(shown.output.contains("fanned out, to 0 users: no audience"), "\(shown.output)")
            let json = await prompt.run("dead-letters", "replays", "1", "--json").output
            #expect(json.contains(#""outcomes":{"fanned-out":1}"#), "\(json)")
            let reach = #""reach":{"fanouts":1,"users":0,"open":0,"words":"to 0 users: no audience"}"#
            #expect(json.contains(reach), "\(json)")
            let users = "UPDATE fanouts SET users = 3, state = 'running', finished_at = NULL"
            _ = try await pipeline.servers.owner.run(Statement(users), [])
            let later = await prompt.run("dead-letters", "replays", "1")
            #expect(later.output.contains("fanned out, to 3 users so far"), "\(later.output)")
        }
    }

    @Test("a dry run warns if a running worker has other catalogues")
    func catalogues() async throws {
        try await DeadLetterFixture.with { prompt, pipeline in
            try await DeadLetterFixture.file([("topic", Self.topic)], on: pipeline)
            for (id, role) in [("w1", "worker"), ("s1", "scheduler")] {
                let identity = Heartbeat.Identity(id: id, role: role, version: "1", host: "h", process: 7)
                let report = Heartbeat(identity, catalogs: "other-files")
                try await HeartbeatStore(pool: pipeline.servers.pool).announce(report)
            }
            let answer = await prompt.run("dead-letters", "replay", "--dry-run")
            let warning = "Warning: these predictions are by the catalogues given here ("
            #expect(answer.output.hasPrefix(warning), "\(answer.output)")
            #expect(answer.output.contains("and worker h[7] has others (other-files): the replay is done by"))
            let question = await prompt.typing(["2"]).run("dead-letters", "replay", "--all")
            #expect(question.output.contains("Warning: these predictions"), "\(question.output)")
        }
    }
}
