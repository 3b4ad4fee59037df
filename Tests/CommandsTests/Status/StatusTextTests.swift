import BellhopRules
import Pipeline
import ServiceRuntime
import Settings
import Store
import Testing

@testable import Commands
@testable import Operations

@Suite("Text of the status")
struct StatusTextTests {
    private let time = Instant(seconds: 1_767_225_600)

    private func status(
        ready: [Lane: Int] = [:],
        consumers: Int = 2,
        schema: Migrator.Status = .current,
        differences: [String]? = [],
        ahead: Duration = .zero
    ) throws -> Status {
        let names = TopologyNames(try #require(Namespace("t")))
        let queues = QueueStatus.all(names: names, tiers: [RetryTier(.seconds(10))]).map { queue in
            var queue = queue
            queue.counts = QueueStatus.Counts(ready: 0, consumers: consumers)
            if case .lane(let lane) = queue.purpose {
                queue.counts = QueueStatus.Counts(
                    ready: ready[lane] ?? 0,
                    consumers: consumers,
                    unacked: 1_024,
                    oldestSent: (time - .seconds(125)).microseconds
                )
            }
            return queue
        }
        let clock = DatabaseClock.Comparison(offset: ahead, uncertainty: .milliseconds(5), wall: time, steady: .now)
        return Status(
            namespace: names.namespace,
            time: time,
            broker: .seen(queues),
            database: .seen(Status.Database(schema: schema, store: nil, clock: clock)),
            topologyDifferences: differences,
            managementObstacle: nil
        )
    }

    @Test("numbers are right-aligned, and a healthy status is reported as such")
    func table() throws {
        let lines = try status(ready: [.normal: 120_000]).text.split(separator: "\n").map(String.init)
        #expect(lines.contains("All is well."))
        let rows = lines.filter { $0.contains(" lane ") }
        #expect(rows.count == 3)
        #expect(Set(rows.map(\.count)).count == 1)
        #expect(rows[1].hasPrefix("normal lane"))
        #expect(rows[1].split(separator: " ") == ["normal", "lane", "120,000", "1,024", "2", "min", "2"])
    }

    @Test("a clock that differs from the database's comes first")
    func clock() throws {
        #expect(try status(ahead: .seconds(-20)).problems.isEmpty)
        let problems = try status(consumers: 0, ahead: .seconds(-63_072_000)).problems
        let offset = "this host's clock is 730 d behind the database's"
        #expect(problems.count > 1)
        #expect(problems.first == "\(offset): correct the wrong one, see docs/runbooks/clocks.md")
    }

    @Test("usually empty queues are shown only if they are not empty")
    func quiet() throws {
        let text = try status().text
        #expect(!text.contains("retry in"))
        #expect(!text.contains("replays"))
        #expect(text.contains("dead letters"))
    }

    @Test("problems come first, in sentences")
    func problems() throws {
        let idle = try status(ready: [.urgent: 1], consumers: 0)
        let missing = "no worker runs, 1 message waits: start one, or read the log of the pool that should run it"
        #expect(idle.problems == [missing, "no scheduler runs: start one"])
        let old = try status(schema: .pending(["0009_x"]), differences: nil)
        #expect(old.problems == ["the schema lacks 0009_x: run bellhop migrate"])
        let other = try status(differences: ["queue a is missing", "queue b is missing"])
        #expect(other.problems.first?.contains("queue a is missing (and 1 more") == true)
        #expect(other.text.split(separator: "\n")[1].hasPrefix("!  the topology differs"))
    }

    @Test("a full queue is a problem that names the consequence, and an almost full one is a smaller problem")
    func lengths() throws {
        let full = try status(ready: [.normal: 10_000_000]).problemList
        #expect(full.map(\.severity) == [.broken])
        #expect(full.first?.text.hasPrefix("the normal lane is full, 10,000,000 messages: the broker rejects") == true)
        let almost = try status(ready: [.bulk: 9_000_000]).problemList
        #expect(almost.map(\.severity) == [.degraded])
        let words = "the bulk lane is almost full, 9,000,000 messages of 10,000,000: if it is full, the broker rejects"
        #expect(almost.first?.text.hasPrefix(words) == true, "\(almost)")
        #expect(try status(ready: [.urgent: 8_999_999]).problems == [])
    }

    @Test("the outbox has a line, a problem if it waits for a minute, and members for scripts")
    func outbox() throws {
        func read(_ outbox: Observed<OutboxLag>?) throws -> (line: String?, problems: [String], json: JSONValue?) {
            var status = try status()
            status.outbox = outbox
            let line = status.text.split(separator: "\n").first { $0.hasPrefix("outbox") }
            return (line.map(String.init), status.problems, status.json["outbox"])
        }
        let none = try read(nil)
        #expect(none.line == nil && none.problems.isEmpty && none.json == .null)
        let empty = try read(.seen(OutboxLag(rows: 0, oldestAge: 0)))
        #expect(empty.line?.hasSuffix("empty") == true && empty.problems.isEmpty)
        let one = try read(.seen(OutboxLag(rows: 1, oldestAge: 5)))
        #expect(one.line?.hasSuffix("1 row, the oldest written 5 s ago") == true && one.problems.isEmpty)
        let late = try read(.seen(OutboxLag(rows: 100_000, oldestAge: 125)))
        #expect(late.line?.contains("100,000 rows or more, the oldest written 2 min") == true)
        #expect(late.problems.count == 1)
        #expect(late.problems.first?.contains("does bellhop relay run? see docs/runbooks/outbox.md") == true)
        let members: JSONValue = [
            "reached": true, "error": .null, "rows": 100_000, "rowsIsCapped": true, "oldestAgeSeconds": 125,
        ]
        #expect(late.json == members)
        let unread = try read(.unseen(because: "Connection refused"))
        #expect(unread.line?.hasSuffix("-") == true)
        #expect(unread.problems == ["the outbox cannot be read: Connection refused"])
        #expect(unread.json?["reached"] == false && unread.json?["error"] == "Connection refused")
    }

    @Test("without the database, no process that cannot be seen is reported as missing")
    func blind() throws {
        let names = TopologyNames(try #require(Namespace("t")))
        let queues = QueueStatus.all(names: names, tiers: []).map { queue in
            var queue = queue
            let isDead = queue.purpose == .dead
            queue.counts = QueueStatus.Counts(ready: isDead ? 20 : 1, consumers: isDead ? 0 : 2)
            return queue
        }
        func status(_ queues: [QueueStatus]) -> Status {
            Status(
                namespace: names.namespace,
                time: time,
                broker: .seen(queues),
                database: .unseen(because: "Connection refused"),
                topologyDifferences: nil,
                managementObstacle: nil
            )
        }
        let left = status(queues)
        let unseen = """
            dead letters are not stored, 20 dead letters wait: schedulers leave them in the queue while they have no \
            database, so whether one runs cannot be seen
            """
        let away = """
            the database cannot be asked: Connection refused. No event is lost: workers hold the messages that they took, \
            which are not counted here, and the others wait in their lanes; all continue automatically
            """
        #expect(left.problems == [away, unseen])
        #expect(left.json.written.contains(#""schedulers":null"#))
        let idle = status(
            queues.map { queue in
                var queue = queue
                queue.counts = QueueStatus.Counts(ready: 1, consumers: 0)
                return queue
            }
        )
        #expect(idle.problems.contains("no worker runs, 3 messages wait: none can start without the database"))
    }

    @Test("a time ahead of the local clock has no negative age")
    func skew() throws {
        let status = try status()
        var queue = try #require(status.queue(.lane(.urgent)))
        queue.counts?.oldestSent = (time + .seconds(60)).microseconds
        #expect(status.age(queue) == .zero)
    }

    @Test(
        "durations are shown in the largest unit that fits",
        arguments: [(59, "59 s"), (119, "119 s"), (120, "2 min"), (7_199, "1 h"), (86_400, "1 d"), (864_000, "10 d")]
    )
    func spans(seconds: Int, text: String) {
        #expect(Duration.seconds(seconds).roughly == text)
    }
}
