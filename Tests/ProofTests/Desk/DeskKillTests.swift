import AMQP
import Glibc
import Sandbox
import TestSupport
import Testing

/// Beside the other proofs: most of the time these wait for leases and confirms.
@Suite("The desk under kill -9", .proofInTurn, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct DeskKillTests {
    private static let size = Proof.isFull ? 20_000 : 800

    @Test("clerk, runner, workers and the command are killed while letters are filed, replayed and fail again")
    func killed() async throws {
        var chance = Proof.chance("killed desk")
        try await Stage.with { stage in
            try await PushGround.with(stage) { ground in
                try await DeskKills(ground, size: Self.size, kills: Proof.isFull ? 20 : 4).prove(
                    &chance,
                    breakBroker: nil
                )
            }
        }
    }
}

/// Beside the other proofs, since this broker is nobody else's.
@Suite(
    "The desk on a broker that is killed",
    .proofInTurn,
    .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed"),
    .timeLimit(.ofProof)
)
struct DeskBrokerTests {
    @Test("the broker is killed in the middle of a replay, beside everybody else: every item is accounted for")
    func killedBroker() async throws {
        var chance = Proof.chance("killed broker under the desk")
        try await PrivateServers.with { servers in
            try await Stage.with(servers.addresses) { stage in
                try await PushGround.with(stage) { ground in
                    try await DeskKills(ground, size: 800, kills: 2).prove(&chance) {
                        try await servers.restart(.broker, with: SIGKILL)
                    }
                }
            }
        }
    }
}

/// Half of the messages are malformed for good, half are events whose pushes FCM refuses at first.
private struct DeskKills {
    private let ground: PushGround
    private let size: Int
    private let kills: Int

    init(_ ground: PushGround, size: Int, kills: Int) {
        self.ground = ground
        self.size = size
        self.kills = kills
    }

    private var stage: Stage { ground.stage }

    func prove(_ chance: inout SeededChance, breakBroker: (() async throws -> Void)?) async throws {
        let queuesStand = ContinuousClock.now
        var crew = Crew(
            scheduler: try await stage.scheduler(),
            workers: [try await ground.worker(), try await ground.worker()]
        )
        try await ground.registerDevices()
        ground.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT")))])
        let traffic = Traffic(exchange: stage.names.events)
        let good = (0..<size / 2).map { traffic.good($0) }
        let bad = (0..<size / 2).map { traffic.bad($0) }
        let pieces = (good + bad).shuffled(using: &chance)
        async let sending = Producer.with(try stage.broker) { try await $0.send(pieces) }
        try await kill(&crew, times: kills, &chance) { try await stage.count("dead_letters") }
        let sent = try await sending
        let deliveries = sent.records.count
        // What a kill has stranded is found when it is five minutes overdue, by a look that comes once a minute.
        try await eventually("every delivery is given up and filed", atMost: .proof) {
            try await stage.endLeasesOfTheDead()
            return try await stage.count("deliveries WHERE state = 'failed'") == deliveries
        }
        try await eventually("every letter is filed", atMost: .proof) {
            try await stage.count("dead_letters") == deliveries + bad.count
        }
        // A replay in which a third fails again, while everybody is killed, and the broker too.
        ground.sandbox.setFaults([
            SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT"))).limited(
                toRate: 0.33,
                count: nil
            )
        ])
        if breakBroker != nil {
            // Only of queues that are older does RabbitMQ itself keep what it has confirmed.
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
        // What died again is taken now; what is malformed stays so.
        ground.sandbox.setFaults([])
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

    /// Kills somebody each time that some more has happened.
    private func kill(
        _ crew: inout Crew,
        times: Int,
        _ chance: inout SeededChance,
        _ progress: () async throws -> Int
    ) async throws {
        for _ in 0..<times {
            let before = try await progress()
            // Where nothing moves any more the rest of the kills hit an idle house.
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
                crew.workers[other - 1] = try await ground.worker()
            }
        }
    }

    /// Where only failures come in a row it pauses, and somebody resumes it.
    private func resumeIfPaused(_ replay: Int) async throws {
        guard try await stage.count("replays WHERE id = \(replay) AND state = 'paused'") == 1 else { return }
        try await stage.bellhop("dead-letters", "resume", String(replay), "--because", "proof", "--json")
    }

    /// What a kill strands between a commit and a publish comes due again after ten minutes: it has to be there by then.
    private func ended(_ replay: Int) async throws {
        try await eventually("replay \(replay) has ended", atMost: .proof) {
            try await resumeIfPaused(replay)
            return try await stage.count("replays WHERE id = \(replay) AND finished_at IS NOT NULL") == 1
        }
    }

    /// Until then a replay leaves what a killed worker had claimed where it is.
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
            "nobody has a second record, nobody lacks one"
        )
        #expect(try await stage.count("dead_letters") == sent.records.count + bad, "one item for each")
        let rejects = try await stage.column(
            "SELECT state || ' ' || deaths || ' ' || count(*) FROM dead_letters WHERE stage <> 'dispatch' GROUP BY state, deaths"
        )
        #expect(rejects == ["open 2 \(bad)"], "each was replayed once and died once more")
        let balance = try await ground.balance(sent, counted: 0)
        Proof.report("killed desk: \(balance)")
        #expect(balance.isEven, "\(balance)")
    }

    private struct Crew {
        var scheduler: Role
        var workers: [Role]
    }
}
