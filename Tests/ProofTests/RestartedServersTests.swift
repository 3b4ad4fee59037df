import Glibc
import TestSupport
import Testing

/// Beside the other proofs, since these servers are nobody else's.
@Suite(
    "Restarted servers",
    .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed"),
    .timeLimit(.minutes(30))
)
struct RestartedServersTests {
    private struct Fault {
        let name: String
        let server: PrivateServers.Server
        let signal: Int32
    }

    /// In this order the queues are older than ten seconds when the broker is killed.
    ///
    /// Only then does RabbitMQ itself keep what it has confirmed. Killing it belongs to the full size: on a busy machine its recovery takes minutes.
    private static let everyFault = [
        Fault(name: "PostgreSQL restarted at once (immediate)", server: .database, signal: SIGQUIT),
        Fault(name: "broker restarted in good order", server: .broker, signal: SIGTERM),
        Fault(name: "broker killed", server: .broker, signal: SIGKILL),
    ]

    private static var faults: [Fault] {
        Proof.isFull ? everyFault : everyFault.filter { $0.signal != SIGKILL }
    }

    @Test("PostgreSQL and the broker, restarted and killed under load, cost nothing that was confirmed")
    func restarts() async throws {
        var chance = Proof.chance("restarted servers")
        let size = Proof.isFull ? 20_000 : 4_000
        try await PrivateServers.with { servers in
            try await Stage.with(servers.addresses) { stage in
                try await PushGround.with(stage) { ground in
                    let queuesStand = ContinuousClock.now
                    let workers = [try await ground.worker(), try await ground.worker()]
                    let scheduler = try await stage.scheduler()
                    try await ground.registerDevices()
                    var sent = Sent()
                    for (round, fault) in Self.faults.enumerated() {
                        if fault.signal == SIGKILL {
                            try await eventually("the queues are old enough") { .now - queuesStand > .seconds(12) }
                        }
                        let pieces = Self.pieces(round * size..<(round + 1) * size, for: stage)
                        let shuffled = pieces.shuffled(using: &chance)
                        let before = sent.records.count
                        async let sending = send(shuffled, on: stage)
                        try await eventually("\(fault.name): the load is on") {
                            try await stage.count("notifications") > before + size / 8
                        }
                        try await servers.restart(fault.server, with: fault.signal)
                        sent = sent + (try await sending)
                        let expected = sent
                        try await eventually("\(fault.name): all rows are there", within: .seconds(120)) {
                            try await stage.count("notifications") >= expected.records.count
                        }
                        let rows = "\(expected.records.count) rows so far"
                        Proof.report("\(fault.name): \(rows), \(expected.repeats) publications repeated")
                    }
                    #expect(workers.allSatisfy { $0.child.isRunning } && scheduler.child.isRunning)
                    let counted = try await ground.settle(sent, workers: workers)
                    let balance = try await stage.balance(sent, workers: workers, scheduler: scheduler)
                    let pushes = try await ground.balance(sent, counted: counted)
                    expectEven(balance, "restarted servers")
                    expectEven(pushes, "restarted servers")
                    // Nobody died who held a claim: no outcome is unknown, so nothing may go out twice.
                    #expect(pushes.repeats == 0 && pushes.unknown == 0 && pushes.counted == 0, "\(pushes)")
                }
            }
        }
    }

    private static func pieces(_ numbers: Range<Int>, for stage: Stage) -> [Piece] {
        let traffic = Traffic(exchange: stage.names.events)
        return numbers.map { $0 % 10 == 3 ? traffic.bad($0) : traffic.good($0) }
    }

    /// In parts, so that the fault falls between them as well as into one.
    private func send(_ pieces: [Piece], on stage: Stage) async throws -> Sent {
        try await Producer.with(try stage.broker) { producer in
            var sent = Sent()
            for start in stride(from: 0, to: pieces.count, by: 500) {
                sent = sent + (try await producer.send(pieces[start..<min(start + 500, pieces.count)]))
            }
            return sent
        }
    }
}
