import AMQP
import Postgres
import TestSupport
import Testing

/// The messages that were sent compared with the stored rows, both as sets.
struct Balance: EvenBalance {
    private(set) var recorded = 0
    private(set) var kept = 0
    private(set) var filed = 0
    private var lost: [String] = []
    private var doubled: [String] = []
    private var unexpected: [String] = []
    private var stuck: [String] = []

    var isEven: Bool { lost.isEmpty && doubled.isEmpty && unexpected.isEmpty && stuck.isEmpty }

    var description: String {
        "rows \(recorded), kept \(kept), dead letters \(filed), lost \(lost.count), doubled \(doubled.count), "
            + "unexpected \(unexpected.count), stuck \(stuck.count)"
            + (isEven ? "" : " such as \((lost + doubled + unexpected + stuck).prefix(5))")
    }

    mutating func compare(records found: [String], with expected: Set<String>) {
        recorded = found.count
        compare(found, with: expected)
    }

    mutating func compare(plans found: [String], with expected: Set<String>) {
        kept = found.count
        compare(found, with: expected)
    }

    private mutating func compare(_ found: [String], with expected: Set<String>) {
        let distinct = Set(found)
        doubled += Self.repeated(found)
        lost += expected.subtracting(distinct)
        unexpected += distinct.subtracting(expected)
    }

    mutating func compare(letters found: [Sent.Letter], with expected: [Sent.Letter: Int]) {
        filed = found.count
        let counts = Dictionary(found.map { ($0, 1) }, uniquingKeysWith: +)
        for (letter, copies) in expected {
            let count = counts[letter, default: 0]
            if count == 0 { lost.append("\(letter)") }
            if count > copies { doubled.append("\(letter)") }
        }
        unexpected += counts.keys.filter { expected[$0] == nil }.map { "\($0)" }
    }

    mutating func note(stuck queue: String) {
        stuck.append(queue)
    }

    private static func repeated(_ found: [String]) -> [String] {
        Dictionary(found.map { ($0, 1) }, uniquingKeysWith: +).filter { $0.value > 1 }.map(\.key)
    }
}

extension Sent.Letter: CustomStringConvertible {
    var description: String { "\(reason): \(String(decoding: body.prefix(80), as: UTF8.self))" }
}

extension Stage {
    func column(_ query: String) async throws -> [String] {
        let rows = try await owner.run(Statement(query))
        return try rows.indices.map { try rows.text($0, 0) }
    }

    func letters() async throws -> [Sent.Letter] {
        let rows = try await owner.run("SELECT reason, body FROM dead_letters")
        return try rows.indices.map { Sent.Letter(reason: try rows.text($0, 0), body: try rows.bytes($0, 1)) }
    }

    func count(_ table: String) async throws -> Int {
        Int(try await owner.run(Statement("SELECT count(*) FROM \(table)")).integer(0, 0))
    }

    /// Waits until all rows can be stored, drains the processes, and compares the sets.
    ///
    /// Unsettled messages of a process are back in their queue after its end, so a message that no process can take is
    /// found as well.
    func balance(_ sent: Sent, workers: [Role], scheduler: Role?) async throws -> Balance {
        let roles = workers + (scheduler.map { [$0] } ?? [])
        // A loss lets this time out, and the comparison then describes the loss better.
        try? await eventually("all is there", atMost: .proof) {
            guard roles.allSatisfy(\.child.isRunning) else { return true }
            let rows = try await count("notifications")
            let plans = try await count("events")
            let letters = try await count("dead_letters")
            return rows >= sent.records.count && plans >= sent.plans.count && letters >= sent.letters.count
        }
        for role in roles where !role.child.isRunning {
            throw ProofFailure(
                "\(role.child.name) ended: \(try await role.child.ending())\n\(role.child.log.prefix(4_000))"
            )
        }
        let queues = try self.queues
        try await eventually("the lanes are taken in", atMost: .proof) {
            try await waiting(in: queues.filter { $0 != names.dead }).isEmpty
        }
        for worker in workers { try await worker.drain() }
        if let scheduler {
            try await eventually("the dead letters are filed", atMost: .proof) {
                try await waiting(in: [names.dead]).isEmpty
            }
            try await scheduler.drain()
        }
        var balance = Balance()
        let records = try await column("SELECT event_id || '|' || user_id FROM notifications")
        balance.compare(records: records, with: sent.records)
        balance.compare(plans: try await column("SELECT id FROM events"), with: sent.plans)
        balance.compare(letters: try await letters(), with: sent.letters)
        for queue in try await waiting(in: queues) { balance.note(stuck: queue) }
        return balance
    }

    /// Returns the number of ready messages in a queue, as the broker reports it; up to some seconds old.
    func depth(of queue: String) async throws -> Int {
        try await BrokerSession.with(try broker, name: "proof, looking") { session in
            guard let counts = try session.checkQueue(queue) else { throw ProofFailure("there is no queue \(queue)") }
            return counts.messages
        }
    }

    /// Returns the queues that contain a message at this moment; the message is returned to its queue.
    func waiting(in queues: [String]) async throws -> [String] {
        try await BrokerSession.with(try broker, name: "proof, looking") { session in
            try queues.filter { queue in
                guard let message = try session.get(queue) else { return false }
                try session.release(message.tag)
                return true
            }
        }
    }
}

/// The result of a run, as sets that are compared.
protocol EvenBalance: CustomStringConvertible {
    /// Whether every expected row exists, and no other.
    var isEven: Bool { get }
}

/// Fails the test if the balance is not even, and prints it in any case.
func expectEven(_ balance: some EvenBalance, _ proof: String, sourceLocation: SourceLocation = #_sourceLocation) {
    Proof.report("\(proof): \(balance)")
    #expect(balance.isEven, "\(proof): \(balance)", sourceLocation: sourceLocation)
}
