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

    /// In this order the queues are older than ten seconds when the broker is killed: only then does RabbitMQ itself
    /// keep what it has confirmed. Killing it belongs to the full size: on a busy machine its recovery takes minutes.
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
                let queuesStand = ContinuousClock.now
                let traffic = Traffic(exchange: stage.names.events)
                let workers = [try await stage.worker(), try await stage.worker()]
                let scheduler = try await stage.scheduler()
                var sent = Sent()
                for (round, fault) in Self.faults.enumerated() {
                    if fault.signal == SIGKILL {
                        try await eventually("the queues are old enough") { .now - queuesStand > .seconds(12) }
                    }
                    let first = round * size
                    let pieces = (first..<first + size).map { number in
                        number % 10 == 3 ? traffic.bad(number) : traffic.good(number)
                    }
                    let shuffled = pieces.shuffled(using: &chance)
                    let before = sent.records.count
                    async let round = Producer.with(try stage.broker) { producer in
                        // In pieces, so that the fault falls between them as well as into one.
                        var sent = Sent()
                        for start in stride(from: 0, to: size, by: 500) {
                            sent = sent + (try await producer.send(shuffled[start..<min(start + 500, size)]))
                        }
                        return sent
                    }
                    try await eventually("\(fault.name): the load is on") {
                        try await stage.count("notifications") > before + size / 8
                    }
                    try await servers.restart(fault.server, with: fault.signal)
                    sent = sent + (try await round)
                    let expected = sent
                    try await eventually("\(fault.name): all rows are there", within: .seconds(120)) {
                        try await stage.count("notifications") >= expected.records.count
                    }
                    Proof.report(
                        "\(fault.name): \(expected.records.count) rows so far, \(expected.repeats) publications repeated"
                    )
                }
                #expect(workers.allSatisfy { $0.child.isRunning } && scheduler.child.isRunning)
                let balance = try await stage.balance(sent, workers: workers, scheduler: scheduler)
                expectEven(balance, "restarted servers")
            }
        }
    }
}
