import CommandLineSupport
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Silent processes in the status",
    .limitedConcurrency,
    .enabled(if: BothServers.isThere, BothServers.absence),
    .timeLimit(.ofTest)
)
struct SilentProcessTests: ProcessReporting {
    private static let replacing =
        "bellhop pool and up replace it; without them, end it if it still runs, and start another"

    @Test("a process without heartbeats that has not left in order is a problem, and the most serious ones come first")
    func silent() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let book = HeartbeatStore(pool: servers.pool)
                try await book.announce(Self.report("w1", "same"))
                var last = Self.report("w2", "same")
                last.isDraining = true
                try await book.announce(last)
                try await book.announce(Self.report("s1", "same", role: "scheduler"))
                try await Self.silence(["w1", "w2"], servers)
                _ = try await DeadLetterStore(pool: servers.pool).file([DeadLetterSamples.rejected("lost")])
                let problems = try await Self.problems(prompt)
                let told = problems.filter { $0.contains("has sent no heartbeat for 4") }
                #expect(told.count == 1, "\(problems)")
                #expect(Self.count(problems, containing: "no worker runs") == 0, "one problem, with one cause")
                #expect(told.first?.hasPrefix("worker h-w1[7] has sent no heartbeat for 4") == true, "\(told)")
                let taken =
                    "Events that it took wait until it ends, and are not counted as ready, and no other worker runs"
                #expect(
                    told.first?.hasSuffix("\(taken); \(Self.replacing)") == true,
                    "\(told)"
                )
                #expect(problems.last?.contains("1 open dead letter") == true, "\(problems)")
                let json = await prompt.run("status", "--json").output
                #expect(json.contains(#"{"severity":"broken","text":"worker h-w1[7] has sent"#), "\(json)")
                #expect(json.contains(#"{"severity":"to-do","text":"1 open dead letter, grouped"#), "\(json)")
            }
        }
    }

    @Test("a hung process is reported with the work that waits for it, depending on the others of its role")
    func alone() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                var urgent = Self.report("w1", "same")
                urgent.lanes = [.urgent, .bulk]
                try await Self.announce(urgent, servers)
                try await Self.announce(Self.report("s1", "same", role: "scheduler"), servers)
                var normal = Self.report("w2", "same")
                normal.lanes = [.normal, .bulk]
                try await Self.announce(normal, servers)
                try await Self.silence(["w1", "s1"], servers)
                let both = try await Self.problems(prompt).filter { $0.contains("has sent no heartbeat") }
                #expect(both.count == 2, "\(both)")
                let due =
                    "No other scheduler runs: due deliveries, reminders and dead letters wait; \(Self.replacing)"
                #expect(both.first?.contains(due) == true, "\(both)")
                let lane = "no other worker serves the urgent lane; \(Self.replacing)"
                #expect(both.last?.contains(lane) == true, "\(both)")
                var whole = Self.report("w3", "same")
                whole.lanes = [.urgent]
                try await Self.announce(whole, servers)
                try await Self.announce(Self.report("s2", "same", role: "scheduler"), servers)
                try await Self.silence(["w1", "s1"], servers)
                let served = try await Self.problems(prompt).filter { $0.contains("has sent no heartbeat") }
                let others = "Another scheduler takes its work when it has ended; bellhop pool and up replace it"
                #expect(served.first?.contains(others) == true, "\(served)")
                let ending = "without them, end it if it still runs, and other workers take its work"
                #expect(served.last?.hasSuffix(ending) == true, "\(served)")
            }
        }
    }

    @Test("no process is called hung while none could write a heartbeat, and until all can have written one again")
    func outage() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let book = HeartbeatStore(pool: servers.pool)
                let processes = try await Self.silencedProcesses(book, servers)
                let none = try await Self.problems(prompt)
                #expect(Self.count(none, containing: "it hangs") == 0, "\(none)")
                let lasting = "no process has written a heartbeat for 4"
                #expect(Self.count(none, containing: lasting) == 1, "\(none)")
                let together = "no queue has a consumer, and no process has written a heartbeat for 4"
                #expect(none.first?.hasPrefix(together) == true, "\(none)")
                #expect(none.first?.contains("workers and schedulers were killed") == true, "\(none)")
                #expect(Self.count(none, containing: " runs") == 0, "one problem, with one cause: \(none)")
                // A process without a queue writes first.
                try await book.announce(Self.report("a1", "same", role: "api"))
                let first = try await Self.problems(prompt)
                let since = "no worker or scheduler has written a heartbeat since a pause of all, which ended"
                #expect(Self.count(first, containing: since) == 1, "\(first)")
                #expect(Self.count(first, containing: "1 process has") + Self.count(first, containing: " runs") == 0)
                _ = try await servers.owner.run("DELETE FROM processes WHERE id = 'a1'")
                // The first one writes again.
                try await book.announce(processes[1])
                let marked = try await servers.owner.run("SELECT id FROM processes WHERE figures ? 'resumed'")
                #expect(try marked.count == 1 && marked.text(0, 0) == "s1")
                try await Self.resume("s1", "+ 3600", servers)
                let some = try await Self.problems(prompt)
                #expect(Self.count(some, containing: "it hangs") == 0, "\(some)")
                let over = "1 process has written no heartbeat since a pause of all heartbeats"
                #expect(Self.count(some, containing: over) == 1, "\(some)")
                // A worker that writes later does not change the end of the outage, and the other one hangs.
                try await book.announce(Self.report("w2", "same"))
                try await Self.resume("s1", "- 16", servers)
                let hung = try await Self.problems(prompt)
                #expect(Self.count(hung, containing: "worker h-w1[7] has sent no heartbeat for") == 1, "\(hung)")
                #expect(Self.count(hung, containing: "pause of all") == 0, "\(hung)")
                try await book.announce(processes[1])
                let kept = try await servers.owner.run("SELECT id FROM processes WHERE figures ? 'resumed'")
                #expect(kept.count == 1, "the mark stays")
            }
        }
    }

    @Test(
        "after an outage, a role whose processes have not written yet is not called missing",
        arguments: ["w1", "s1"]
    )
    func notSeenYet(silent: String) async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let book = HeartbeatStore(pool: servers.pool)
                let processes = try await Self.silencedProcesses(book, servers)
                let first = try #require(processes.first { $0.identity.id != silent })
                try await book.announce(first)
                try await Self.resume(first.identity.id, "+ 3600", servers)
                let problems = try await Self.problems(prompt)
                let role = silent == "w1" ? "worker" : "scheduler"
                #expect(Self.count(problems, containing: "no \(role) runs") == 0, "\(problems)")
                #expect(Self.count(problems, containing: "no \(role) has written a heartbeat yet") == 1, "\(problems)")
            }
        }
    }

    private static func count(_ problems: [String], containing words: String) -> Int {
        problems.count { $0.contains(words) }
    }

    /// Announces a worker `w1` and a scheduler `s1`, and makes their heartbeats old.
    private static func silencedProcesses(
        _ book: HeartbeatStore,
        _ servers: ServerFixture
    ) async throws -> [Heartbeat] {
        let processes = [report("w1", "same"), report("s1", "same", role: "scheduler")]
        for report in processes { try await book.announce(report) }
        try await silence(["w1", "s1"], servers)
        return processes
    }

    /// Makes heartbeats 40 seconds old.
    private static func silence(_ ids: [String], _ servers: ServerFixture) async throws {
        for id in ids {
            let statement = "UPDATE processes SET seen_at = now() - interval '40 s' WHERE id = $1"
            _ = try await servers.owner.run(Statement(statement), [.text(id)])
        }
    }

    /// Moves the time of the first heartbeat after a common silence, and keeps the process in sight.
    private static func resume(_ id: String, _ offset: String, _ servers: ServerFixture) async throws {
        let statement = """
            UPDATE processes SET seen_at = now() + interval '1 hour', figures = figures || jsonb_build_object(
                'resumed', jsonb_build_array(((extract(epoch FROM now()) \(offset)) * 1000000)::bigint))
            WHERE id = $1
            """
        _ = try await servers.owner.run(Statement(statement), [.text(id)])
    }

    @Test("a hung process that its supervisor has replaced is reported as replaced, and not as hanging")
    func replaced() async throws {
        try await ServerFixture.withTopology { servers in
            try await CommandFolder.withPrompt(on: servers) { prompt, _ in
                let book = HeartbeatStore(pool: servers.pool)
                try await book.announce(Self.report("w1", "same"))
                _ = try await servers.owner.run("UPDATE processes SET seen_at = now() - interval '40 s'")
                var identity = Heartbeat.Identity(id: "w2", role: "worker", version: "0.1.0", host: "h-w1", process: 8)
                let replacedAt = DeadLetterSamples.ago(125)
                identity.predecessor = Heartbeat.Predecessor(process: 7, hungUntil: replacedAt)
                try await book.announce(Heartbeat(identity, catalogs: "same"))
                let problems = try await Self.problems(prompt)
                let told = problems.filter { $0.contains("h-w1") && !$0.contains("takes messages") }
                #expect(told.count == 1, "\(problems)")
                #expect(told.first?.hasPrefix("worker h-w1[8] replaced one that hung, 2 min ago: ") == true, "\(told)")
                identity.predecessor = Heartbeat.Predecessor(process: 7, hungUntil: nil)
                try await book.announce(Heartbeat(identity, catalogs: "same"))
                let calm = try await Self.problems(prompt).filter { $0.contains("hung") || $0.contains("heartbeat") }
                #expect(calm == [], "\(problems)")
                // A crash loop: the process between the two has deleted nothing.
                try await book.announce(Self.report("w1", "same"))
                try await Self.silence(["w1"], servers)
                var third = Heartbeat.Identity(id: "w3", role: "worker", version: "0.1.0", host: "h-w1", process: 9)
                var predecessor = Heartbeat.Predecessor(process: 8, hungUntil: nil)
                predecessor.earlier = [7]
                third.predecessor = predecessor
                try await book.announce(Heartbeat(third, catalogs: "same"))
                let loop = try await Self.problems(prompt).filter { $0.contains("h-w1[7]") }
                #expect(loop == [])
                try await book.leave("w3")
                // The replacement ends in order, and a later process has the same process id.
                try await book.leave("w2")
                let left = try await Self.problems(prompt).filter { $0.contains("heartbeat") }
                #expect(left == [], "the hung one is gone for good")
                identity.predecessor = Heartbeat.Predecessor(process: 7, hungUntil: replacedAt)
                try await book.announce(Heartbeat(identity, catalogs: "same"))
                try await book.announce(Self.report("w1", "same"))
                try await Self.silence(["w1"], servers)
                try await book.announce(Heartbeat(identity, catalogs: "same"))
                let later = try await Self.problems(prompt)
                #expect(Self.count(later, containing: "worker h-w1[7] has sent no heartbeat for 4") == 1, "\(later)")
            }
        }
    }
}
