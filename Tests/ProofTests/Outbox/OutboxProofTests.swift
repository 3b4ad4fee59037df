import Glibc
import TestSupport
import Testing

/// Two relays between a publisher's database and the broker, while one of them and both servers are killed.
@Suite(
    "Outbox during failures",
    .limitedProofConcurrency,
    .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed"),
    .timeLimit(.ofProof)
)
struct OutboxProofTests {
    private static let size = Proof.isFull ? 50_000 : 2_000

    @Test("a killed relay and restarts of both servers lose no committed row, and keep the order of each key")
    func relays() async throws {
        try await PrivateServers.with { servers in
            try await Stage.with(servers.addresses) { stage in
                try await OutboxFixture.with(stage) { fixture in
                    let worker = try await stage.worker()
                    var victim = try await fixture.relay()
                    let other = try await fixture.relay()
                    let began = ContinuousClock.now
                    async let writing: Void = fixture.write(Self.size)
                    try await fixture.awaitCommits(Self.size / 4)
                    try await victim.killAtOnce()
                    victim = try await fixture.relay()
                    try await fixture.awaitCommits(Self.size / 2)
                    try await servers.restart(.database, with: SIGQUIT)
                    try await fixture.awaitCommits(Self.size * 3 / 4)
                    try await servers.restart(.broker, with: SIGTERM)
                    try await writing
                    try await fixture.awaitEmpty()
                    let expected = try await fixture.committed()
                    try? await eventually("all rows are recorded", atMost: .proof) {
                        try await stage.count("notifications") >= expected.count
                    }
                    let isEachRunning = [worker, victim, other].allSatisfy { $0.child.isRunning }
                    #expect(isEachRunning)
                    for relay in [victim, other] { try await relay.drain() }
                    try await worker.drain()
                    let balance = try await fixture.balance(expected)
                    expectEven(balance, "outbox, a relay and both servers restarted, in \((.now - began).inSeconds)")
                    #expect(expected.count >= Self.size)
                }
            }
        }
    }
}
