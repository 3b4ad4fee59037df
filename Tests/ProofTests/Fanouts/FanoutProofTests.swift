import Glibc
import TestSupport
import Testing

/// One event for a large number of followers, while workers and servers are killed.
@Suite("Fan-outs during failures", .limitedProofConcurrency, .timeLimit(.ofProof))
struct FanoutProofTests {
    private static let followers = Proof.isFull ? 1_000_000 : 12_000

    @Test(
        "a fan-out with repeated kills of one of three workers creates one record and one push per follower",
        .enabled(if: Proof.hasServers, Proof.absence)
    )
    func killedWorkers() async throws {
        var chance = Proof.chance("fan-out, workers killed")
        let kills = Proof.isFull ? 20 : 4
        try await Stage.with { stage in
            try await FanoutFixture.with(stage, followers: Self.followers, lease: PushFault.usualLease) { fixture in
                _ = try await stage.scheduler(fixture.settings)
                var workers = [try await fixture.worker(), try await fixture.worker(), try await fixture.worker()]
                let began = ContinuousClock.now
                try await fixture.publish()
                for kill in 1...kills {
                    try await fixture.awaitRecords(Self.followers * kill / (kills + 1))
                    let victim = Int.random(in: 0..<workers.count, using: &chance)
                    try await workers[victim].killAtOnce()
                    workers[victim] = try await fixture.worker()
                }
                try await fixture.awaitEnd()
                let balance = try await fixture.balance()
                expectEven(balance, "fan-out, \(kills) workers killed, in \((.now - began).inSeconds)")
                let isEachRunning = workers.allSatisfy { $0.child.isRunning }
                #expect(isEachRunning)
            }
        }
    }

    @Test(
        "a fan-out during crashes of PostgreSQL and the broker creates one record and one push per follower",
        .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed")
    )
    func crashedServers() async throws {
        // RabbitMQ 3.10 cannot recover a young queue that is killed and withholds its stranded messages for minutes. A
        // broker crash therefore takes time, and the small size restarts the broker instead.
        let signal = Proof.isFull ? SIGKILL : SIGTERM
        try await PrivateServers.with { servers in
            try await Stage.with(servers.addresses) { stage in
                try await FanoutFixture.with(stage, followers: Self.followers, lease: PushFault.longLease) { fixture in
                    let queuesStand = ContinuousClock.now
                    let scheduler = try await stage.scheduler(fixture.settings)
                    let workers = [try await fixture.worker(), try await fixture.worker(), try await fixture.worker()]
                    if signal == SIGKILL {
                        try await eventually("the queues are old enough") { .now - queuesStand > .seconds(12) }
                    }
                    let began = ContinuousClock.now
                    try await fixture.publish()
                    try await fixture.awaitRecords(Self.followers / 4)
                    try await servers.restart(.database, with: SIGQUIT)
                    try await fixture.awaitRecords(Self.followers / 2)
                    try await servers.restart(.broker, with: signal)
                    try await fixture.awaitEnd()
                    let balance = try await fixture.balance()
                    expectEven(balance, "fan-out, both servers crashed, in \((.now - began).inSeconds)")
                    // No claim holder died and no lease ended: no push may go out twice.
                    #expect(balance.repeats == 0, "\(balance)")
                    let isEachRunning = workers.allSatisfy { $0.child.isRunning } && scheduler.child.isRunning
                    #expect(isEachRunning)
                }
            }
        }
    }
}
