import TestSupport
import Testing

/// Operators hold and release work while the workers are killed.
@Suite("Held work", .limitedProofConcurrency, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct HeldWorkTests {
    private static let size = Proof.isFull ? 10_000 : 1_000
    private static let rounds = Proof.isFull ? 8 : 3

    @Test("each push goes out once and none during its hold, while holds change and workers are killed")
    func prove() async throws {
        try await Stage.with { stage in
            try await PushFixture.with(stage) { fixture in
                let scheduler = try await stage.scheduler()
                var workers = [try await fixture.worker(), try await fixture.worker()]
                try await fixture.registerDevices()
                try await stage.bellhop("hold", "add", "--app", "drop", "--because", "a proof")
                try await knows(workers, "")
                let traffic = Traffic(exchange: stage.names.events)
                let sent = try await Producer.with(try stage.broker) { producer in
                    try await producer.send((0..<Self.size).map { traffic.good($0) })
                }
                try await eventually("everything is recorded, and waits", atMost: .proof) {
                    let rows = try await stage.count("notifications")
                    let others = try await stage.count("deliveries WHERE state <> 'deferred'")
                    return rows >= sent.records.count && others == 0
                }
                #expect(fixture.sandbox.received(.fcm).isEmpty)
                for round in 0..<Self.rounds {
                    let type = ["transaction_complete", "rate_update", "security"][round % 3]
                    try await stage.bellhop("hold", "add", "--app", "drop", "--type", type, "--because", "a proof")
                    try await knows(workers, type)
                    // A killed worker's claim is found later, and no worker may send the delivery once its lease is
                    // over.
                    try await eventually("nothing of this type is in flight", atMost: .proof) {
                        try await stage.endLeasesOfTheDead()
                        return try await stage.count("deliveries d WHERE \(Self.isUnderWay) AND \(Self.ofType(type))")
                            == 0
                    }
                    let before = try await arrived(type, stage, fixture)
                    if round == 0 {
                        // The deliveries of this type have waited for the whole app, and now wait for their type.
                        try await stage.bellhop("hold", "release", "--app", "drop", "--yes", "--because", "a proof")
                    }
                    try await workers[round % 2].killAtOnce()
                    workers[round % 2] = try await fixture.worker()
                    let after = try await arrived(type, stage, fixture)
                    #expect(after == before, "\(type) went out while it was held")
                    let release = ["hold", "release", "--app", "drop", "--type", type, "--yes", "--because", "a proof"]
                    try await stage.run(Program.bellhop, release)
                    try await workers[(round + 1) % 2].killAtOnce()
                    workers[(round + 1) % 2] = try await fixture.worker()
                }
                let counted = try await fixture.settle(sent, workers: workers)
                let pushes = try await fixture.balance(sent, counted: counted)
                expectEven(pushes, "held work")
                let stuck = try await stage.count("deliveries WHERE outlet IS NOT NULL")
                #expect(stuck == 0)
                for role in workers + [scheduler] { try await role.drain() }
            }
        }
    }

    private static let isUnderWay = "state = 'sending' AND updated_at > now() - interval '65 s'"

    private static func ofType(_ type: String) -> String {
        """
        EXISTS (SELECT FROM notifications n
                WHERE n.app = d.app AND n.user_id = d.user_id AND n.id = d.notification_id AND n.type = '\(type)')
        """
    }

    /// Returns the number of pushes of a type that the provider has received.
    private func arrived(_ type: String, _ stage: Stage, _ fixture: PushFixture) async throws -> Int {
        let rows = try await stage.owner.run("SELECT id FROM notifications WHERE type = $1", [.text(type)])
        let ids: Set<String> = Set(try rows.indices.map { row in try rows.text(row, 0) })
        return fixture.sandbox.received(.fcm).filter { $0.tag.map { ids.contains($0) } ?? false }.count
    }

    /// Returns when each of these workers has loaded the hold.
    private func knows(_ workers: [Role], _ type: String) async throws {
        for worker in workers {
            try await eventually("the worker knows of the hold") {
                try await worker.metrics().contains(#"bellhop_holds{app="drop",type="\#(type)",provider=""} 1"#)
            }
        }
    }
}
