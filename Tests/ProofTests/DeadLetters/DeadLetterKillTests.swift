import AMQP
import Glibc
import Sandbox
import TestSupport
import Testing

/// Runs concurrently with the other proofs: most of the time it waits for leases and confirms.
@Suite(
    "Dead letters under kill -9",
    .limitedProofConcurrency,
    .enabled(if: Proof.hasServers, Proof.absence),
    .timeLimit(.ofProof)
)
struct DeadLetterKillTests {
    private static let size = Proof.isFull ? 20_000 : 800

    @Test("dead letters survive kills of scheduler, workers and command during storage, replay and failures")
    func killed() async throws {
        var chance = Proof.chance("killed during dead-lettering")
        try await Stage.with { stage in
            try await PushFixture.with(stage) { fixture in
                try await DeadLetterKills(fixture, size: Self.size, kills: Proof.isFull ? 20 : 4).prove(
                    &chance,
                    breakBroker: nil
                )
            }
        }
    }
}

/// Runs concurrently with the other proofs, since no other proof uses this broker.
@Suite(
    "Dead letters on a broker that is killed",
    .limitedProofConcurrency,
    .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed"),
    .timeLimit(.ofProof)
)
struct DeadLetterBrokerTests {
    @Test("every item is accounted for when the broker and other processes are killed during a replay")
    func killedBroker() async throws {
        var chance = Proof.chance("killed broker during dead-lettering")
        try await PrivateServers.with { servers in
            try await Stage.with(servers.addresses) { stage in
                try await PushFixture.with(stage) { fixture in
                    try await DeadLetterKills(fixture, size: 800, kills: 2).prove(&chance) {
                        try await servers.restart(.broker, with: SIGKILL)
                    }
                }
            }
        }
    }
}

/// Half of the messages are permanently malformed, and half are events whose pushes FCM first rejects.
private struct DeadLetterKills {
    private let fixture: PushFixture
    private let size: Int
    private let kills: Int

    init(_ fixture: PushFixture, size: Int, kills: Int) {
        self.fixture = fixture
        self.size = size
        self.kills = kills
    }

    private var stage: Stage { fixture.stage }

    func prove(_ chance: inout SeededChance, breakBroker: (() async throws -> Void)?) async throws {
        let queuesStand = ContinuousClock.now
        var crew = Crew(
            scheduler: try await stage.scheduler(),
            workers: [try await fixture.worker(), try await fixture.worker()]
        )
        try await fixture.registerDevices()
        fixture.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT")))])
        let traffic = Traffic(exchange: stage.names.events)
        let good = (0..<size / 2).map { traffic.good($0) }
        let bad = (0..<size / 2).map { traffic.bad($0) }
        let pieces = (good + bad).shuffled(using: &chance)
        async let sending = Producer.with(try stage.broker) { try await $0.send(pieces) }
        try await kill(&crew, times: kills, &chance) { try await stage.count("dead_letters") }
        let sent = try await sending
        let deliveries = sent.records.count
        // A delivery that a kill has stranded is found when it is overdue by five minutes, by a poll that runs once a
        // minute.
        try await eventually("every delivery is given up and filed", atMost: .proof) {
            try await stage.endLeasesOfTheDead()
            return try await stage.count("deliveries WHERE state = 'failed'") == deliveries
        }
        try await eventually("every letter is filed", atMost: .proof) {
            try await stage.count("dead_letters") == deliveries + bad.count
        }
        // A replay in which a third of the pushes fail again, while every process is killed, and the broker too.
        fixture.sandbox.setFaults([
            SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT"))).limited(
                toRate: 0.33,
                count: nil
            )
        ])
        if breakBroker != nil {
            // RabbitMQ keeps confirmed messages through a crash only in queues of a minimum age.
            try await eventually("the queues are old enough") { .now - queuesStand > .seconds(20) }
        }
        let command = try startReplay()
        try await kill(&crew, times: kills, &chance) {
            try await resumeIfPaused(1)
            return try await stage.count("replay_items WHERE state = 'settled'")
        }
        command.send(SIGKILL)
        try await breakBroker?()
        try await ended(1)
        expect(
            try await stage.column("SELECT outcome || ' ' || count(*) FROM replay_items GROUP BY outcome ORDER BY 1")
        )
        // Pushes that failed again are now accepted; malformed messages stay malformed.
        fixture.sandbox.setFaults([])
        for replay in 2...4 {
            let left = try await stage.count("dead_letters WHERE state = 'open' AND stage = 'dispatch'")
            guard left > 0 else { break }
            try await nothingIsOwed()
            try await stage.bellhop(
                "dead-letters",
                "replay",
                "--stage",
                "dispatch",
                "--yes",
                "--detach",
                "--because",
                "proof"
            )
            try await ended(replay)
        }
        try await settle(deliveries)
        try await judge(sent, bad: bad.count, crew)
    }

    private func startReplay() throws -> ProgramRun {
        try stage.start(
            Program.bellhop,
            ["dead-letters", "replay", "--all", "--yes", "--pause-at", "100", "--because", "proof"],
            stage.environment()
        )
    }

    private func expect(_ outcomes: [String]) {
        Proof.report("the replay that was killed: \(outcomes.joined(separator: ", "))")
        #expect(!outcomes.isEmpty)
    }

    /// Kills a random process each time that progress has been made.
    private func kill(
        _ crew: inout Crew,
        times: Int,
        _ chance: inout SeededChance,
        _ progress: () async throws -> Int
    ) async throws {
        for _ in 0..<times {
            let before = try await progress()
            // If there is no more progress, the remaining kills hit idle processes.
            let began = ContinuousClock.now
            try await eventually("something happens, or nothing is left to happen", atMost: .proof) {
                let isIdle = began.duration(to: .now) > QuietSpan.duration
                return try await progress() > before || isIdle
            }
            switch Int.random(in: 0..<3, using: &chance) {
            case 0:
                try await crew.scheduler.killAtOnce()
                crew.scheduler = try await stage.scheduler()
            case let other:
                try await crew.workers[other - 1].killAtOnce()
                crew.workers[other - 1] = try await fixture.worker()
            }
        }
    }

    /// Resumes the replay if it has paused after a series of failures.
    private func resumeIfPaused(_ replay: Int) async throws {
        guard try await stage.count("replays WHERE id = \(replay) AND state = 'paused'") == 1 else { return }
        try await stage.bellhop("dead-letters", "resume", String(replay), "--because", "proof", "--json")
    }

    /// Waits until the replay has ended.
    ///
    /// A delivery that a kill strands between commit and publish is due again after ten minutes, within this limit.
    private func ended(_ replay: Int) async throws {
        try await eventually("replay \(replay) has ended", atMost: .proof) {
            try await resumeIfPaused(replay)
            return try await stage.count("replays WHERE id = \(replay) AND finished_at IS NOT NULL") == 1
        }
    }

    /// Waits until nothing is owed: until then, a replay skips the deliveries that a killed worker had claimed.
    private func nothingIsOwed() async throws {
        try await eventually("nothing is owed", atMost: .proof) {
            try await stage.endLeasesOfTheDead()
            return try await stage.count("deliveries WHERE state IN (\(PushBalance.owed))") == 0
        }
    }

    private func settle(_ deliveries: Int) async throws {
        try await eventually("every delivery has arrived", atMost: .proof) {
            try await stage.count("deliveries WHERE state = 'delivered'") == deliveries
        }
        try await eventually("every item is settled", atMost: .proof) {
            try await stage.count("dead_letters WHERE state = 'replaying' OR stage = 'dispatch' AND state = 'open'")
                == 0
        }
    }

    private func judge(_ sent: Sent, bad: Int, _ crew: Crew) async throws {
        for worker in crew.workers { try await worker.drain() }
        try await crew.scheduler.drain()
        #expect(
            try await stage.count("notifications") == sent.records.count,
            "no user has a second record, and none lacks one"
        )
        #expect(try await stage.count("dead_letters") == sent.records.count + bad, "one item for each")
        let rejects = try await stage.column(
            "SELECT state || ' ' || deaths || ' ' || count(*) FROM dead_letters WHERE stage <> 'dispatch' GROUP BY state, deaths"
        )
        #expect(rejects == ["open 2 \(bad)"], "each was replayed once and died again")
        let balance = try await fixture.balance(sent, counted: 0)
        Proof.report("killed during dead-lettering: \(balance)")
        #expect(balance.isEven, "\(balance)")
    }

    private struct Crew {
        var scheduler: Role
        var workers: [Role]
    }
}
