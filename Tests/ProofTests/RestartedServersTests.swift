import Glibc
import TestSupport
import Testing

/// Runs concurrently with the other proofs, since no other proof uses these servers.
@Suite(
    "Restarted servers",
    .limitedProofConcurrency,
    .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed"),
    .timeLimit(.ofProof)
)
struct RestartedServersTests {
    private struct Fault {
        let name: String
        let server: PrivateServers.Server
        let signal: Int32
        /// The number of events that are published around the fault.
        let size: Int
    }

    private static let restarts = [
        Fault(
            name: "PostgreSQL restarted immediately",
            server: .database,
            signal: SIGQUIT,
            size: Proof.isFull ? 50_000 : 1_500
        ),
        Fault(
            name: "broker restarted in good order",
            server: .broker,
            signal: SIGTERM,
            size: Proof.isFull ? 50_000 : 1_500
        ),
    ]

    /// A fault that is always small and has separate queues.
    ///
    /// RabbitMQ 3.10 cannot recover a queue that was killed within a second of a snapshot, and makes one for every
    /// 2,048 messages.
    private static let kill = Fault(name: "broker killed", server: .broker, signal: SIGKILL, size: 3_000)

    @Test("restarts and kills of PostgreSQL and the broker under load lose no confirmed message")
    func restarts() async throws {
        var chance = Proof.chance("restarted servers")
        try await PrivateServers.with { servers in
            for faults in [Self.restarts, [Self.kill]] {
                try await Stage.with(servers.addresses) { stage in
                    try await PushFixture.with(stage) { fixture in
                        try await prove(faults, with: servers, on: fixture, &chance)
                    }
                }
            }
        }
    }

    private func prove(
        _ faults: [Fault],
        with servers: PrivateServers,
        on fixture: PushFixture,
        _ chance: inout SeededChance
    ) async throws {
        let stage = fixture.stage
        let queuesStand = ContinuousClock.now
        let settings = ["BELLHOP_LEASE": PushFault.longLease]
        let workers = [try await fixture.worker(settings), try await fixture.worker(settings)]
        let scheduler = try await stage.scheduler()
        try await fixture.registerDevices()
        var sent = Sent()
        var first = 0
        for fault in faults {
            if fault.signal == SIGKILL {
                // RabbitMQ keeps confirmed messages through a crash only in queues of a minimum age.
                try await eventually("the queues are old enough") { .now - queuesStand > .seconds(12) }
            }
            let pieces = Self.pieces(first..<first + fault.size, for: stage).shuffled(using: &chance)
            let before = sent.records.count
            async let sending = send(pieces, on: stage)
            try await eventually("\(fault.name): the load is on", atMost: .proof) {
                try await stage.count("notifications") > before + fault.size / 8
            }
            try await servers.restart(fault.server, with: fault.signal)
            sent = sent + (try await sending)
            let expected = sent
            try await eventually("\(fault.name): all rows are there", atMost: .proof) {
                try await stage.count("notifications") >= expected.records.count
            }
            Proof.report(
                "\(fault.name): \(sent.records.count) rows so far, \(sent.repeats) publications repeated"
            )
            first += fault.size
        }
        #expect(workers.allSatisfy { $0.child.isRunning } && scheduler.child.isRunning)
        let counted = try await fixture.settle(sent, workers: workers)
        let balance = try await stage.balance(sent, workers: workers, scheduler: scheduler)
        let pushes = try await fixture.balance(sent, counted: counted)
        let names = faults.map(\.name).joined(separator: ", ")
        expectEven(balance, names)
        expectEven(pushes, names)
        // No claim holder died and no lease ended: no outcome is unknown, so no push may go out twice.
        #expect(pushes.repeats == 0 && pushes.unknown == 0 && pushes.counted == 0, "\(pushes)")
    }

    private static func pieces(_ numbers: Range<Int>, for stage: Stage) -> [ProofMessage] {
        let traffic = Traffic(exchange: stage.names.events)
        return numbers.map { $0 % 10 == 3 ? traffic.bad($0) : traffic.good($0) }
    }

    /// Publishes the messages in parts, so that the fault hits both a part and the time between parts.
    private func send(_ pieces: [ProofMessage], on stage: Stage) async throws -> Sent {
        try await Producer.with(try stage.broker) { producer in
            var sent = Sent()
            for start in stride(from: 0, to: pieces.count, by: 500) {
                sent = sent + (try await producer.send(pieces[start..<min(start + 500, pieces.count)]))
            }
            return sent
        }
    }
}
