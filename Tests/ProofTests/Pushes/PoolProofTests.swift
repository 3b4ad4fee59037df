import Glibc
import TestSupport
import Testing

/// Runs concurrently with the other proofs: most of the time it waits for pauses and leases.
@Suite("Pools", .limitedProofConcurrency, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct PoolProofTests {
    private static let kills = Proof.isFull ? 60 : 5
    private static let size = Proof.isFull ? 50_000 : 3_000

    @Test("a pool of four that loses a worker each second under load loses nothing and accounts for all repeats")
    func killedWorkers() async throws {
        var chance = Proof.chance("killed workers of a pool")
        try await PushFixture.withStage { fixture in
            let scheduler = try await fixture.stage.scheduler()
            let pool = try await fixture.pool(of: 4)
            try await fixture.registerDevices()
            let pieces = Self.pieces(for: fixture.stage)
            async let sending = Producer.with(try fixture.stage.broker) { try await $0.send(pieces) }
            try await eventually("the load is on") { try await fixture.stage.count("notifications") > 0 }
            let began = ContinuousClock.now
            for kill in 1...Self.kills {
                try await Self.killOne(of: pool, notBefore: began + .seconds(kill), &chance)
            }
            let span = (.now - began).inSeconds
            let sent = try await sending
            let counted = try await fixture.settle(sent, workers: [])
            let balance = try await fixture.stage.balance(sent, workers: [pool], scheduler: scheduler)
            let pushes = try await fixture.balance(sent, counted: counted)
            let name = "\(Self.kills) workers of a pool of four killed within \(span)"
            expectEven(balance, name)
            expectEven(pushes, name)
        }
    }

    @Test("a pool replaces a worker that hangs under load, loses nothing, and accounts for all repeats")
    func hungWorker() async throws {
        try await PushFixture.withStage { fixture in
            let scheduler = try await fixture.stage.scheduler()
            let pool = try await fixture.pool(of: 2, ["BELLHOP_HANG_TIMEOUT": "5s", "BELLHOP_DRAIN_TIMEOUT": "1s"])
            try await eventually("two workers") { pool.livingWorkers.count == 2 }
            try await fixture.registerDevices()
            let pieces = Self.pieces(for: fixture.stage)
            async let sending = Producer.with(try fixture.stage.broker) { try await $0.send(pieces) }
            try await eventually("the load is on") { try await fixture.stage.count("notifications") > 0 }
            guard let victim = pool.livingWorkers.first else { throw ProofFailure("no worker:\n\(pool.child.log)") }
            kill(victim, SIGSTOP)
            try await eventually("it is replaced; the log:\n\(pool.child.log.suffix(2_000))", atMost: .proof) {
                pool.livingWorkers.count == 2 && !pool.livingWorkers.contains(victim)
            }
            let log = pool.child.log
            #expect(log.contains("the worker hangs, ending it") && log.contains("the worker hangs and does not end"))
            #expect(log.contains("the worker ended, starting another") && log.contains("because=\"it hung\""))
            try await eventually("status and metrics report it") {
                let status = try await fixture.stage.bellhop("status").split(whereSeparator: \.isWhitespace)
                guard status.joined(separator: " ").contains("replaced one that hung") else { return false }
                return try await pool.metricsOfAll().contains("\nbellhop_hung_processes_total 1\n")
            }
            let sent = try await sending
            let counted = try await fixture.settle(sent, workers: [])
            let balance = try await fixture.stage.balance(sent, workers: [pool], scheduler: scheduler)
            let pushes = try await fixture.balance(sent, counted: counted)
            expectEven(balance, "a hung worker of a pool of two replaced under load")
            expectEven(pushes, "a hung worker of a pool of two replaced under load")
        }
    }

    @Test("two pools that are replaced in turn under load lose nothing and send nothing twice")
    func rollingRestart() async throws {
        try await PushFixture.withStage { fixture in
            // The lease is longer than the run: only a pool that ends without settling its sends can cause a repeat.
            // The duration of a drain depends on the host: on a busy one the default timeout would cut off sends in
            // flight.
            let settings = ["BELLHOP_LEASE": PushFault.longLease, "BELLHOP_DRAIN_TIMEOUT": "120s"]
            let scheduler = try await fixture.stage.scheduler()
            var pools = [try await fixture.pool(of: 2, settings), try await fixture.pool(of: 2, settings)]
            try await fixture.registerDevices()
            let pieces = Self.pieces(for: fixture.stage)
            async let sending = Producer.with(try fixture.stage.broker) { try await $0.send(pieces) }
            for round in 1...4 {
                let due = Self.size * round / 6
                try await eventually("\(due) rows", atMost: .proof) {
                    try await fixture.stage.count("notifications") >= due
                }
                let old = pools.removeFirst()
                try await old.drain()
                pools.append(try await fixture.pool(of: 2, settings))
            }
            let sent = try await sending
            let counted = try await fixture.settle(sent, workers: [])
            let balance = try await fixture.stage.balance(sent, workers: pools, scheduler: scheduler)
            let pushes = try await fixture.balance(sent, counted: counted)
            expectEven(balance, "4 pools drained and replaced under load")
            expectEven(pushes, "4 pools drained and replaced under load")
            #expect(pushes.repeats == 0 && pushes.unknown == 0, "\(pushes)")
        }
    }

    private static func pieces(for stage: Stage) -> [ProofMessage] {
        let traffic = Traffic(exchange: stage.names.events)
        return (0..<size).map { traffic.good($0) }
    }

    /// Kills one of the running workers.
    ///
    /// A pool restarts failing workers after increasing pauses; if none is left, a SIGHUP starts the next ones
    /// immediately.
    private static func killOne(
        of pool: Role,
        notBefore due: ContinuousClock.Instant,
        _ chance: inout SeededChance
    ) async throws {
        try await eventually("it is time for the next") { .now >= due }
        if pool.livingWorkers.isEmpty { pool.child.send(SIGHUP) }
        try await eventually("a worker is alive; the log:\n\(pool.child.log.suffix(2_000))") {
            !pool.livingWorkers.isEmpty
        }
        let living = pool.livingWorkers
        guard let victim = living.randomElement(using: &chance) else { return }
        kill(victim, SIGKILL)
        try await eventually("its end is noticed") { !pool.livingWorkers.contains(victim) }
    }
}
