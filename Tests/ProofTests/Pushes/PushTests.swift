import TestSupport
import Testing

/// Runs concurrently with the other proofs: most of the time it waits for retries.
@Suite("Pushes", .limitedProofConcurrency, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
struct PushTests {
    @Test(
        "a fault loses no push, leaves nothing owed, and repeats a push only after an unknown outcome",
        arguments: PushFault.all
    )
    func prove(_ fault: PushFault) async throws {
        var chance = Proof.chance(fault.name)
        try await Stage.with { stage in
            try await PushFixture.with(stage) { fixture in
                let settings = ["BELLHOP_LEASE": fault.lease]
                let scheduler = try await stage.scheduler(settings)
                var workers = [try await fixture.worker(settings), try await fixture.worker(settings)]
                try await fixture.registerDevices()
                try await UnansweredAttempts.record(on: stage)
                let pieces = Self.pieces(of: fault, for: stage).shuffled(using: &chance)
                if case .provider(let faults) = fault.kind { fixture.sandbox.setFaults(faults) }
                let began = ContinuousClock.now
                async let sending = Producer.with(try stage.broker) { try await $0.send(pieces) }
                if case .kills(let kills) = fault.kind {
                    for kill in 1...kills {
                        let due = fault.size * kill / (kills + 1)
                        try await eventually("\(due) rows", atMost: .proof) {
                            try await stage.count("notifications") >= due
                        }
                        let victim = Int.random(in: 0..<workers.count, using: &chance)
                        try await workers[victim].killAtOnce()
                        workers[victim] = try await fixture.worker(settings)
                    }
                }
                let sent = try await sending
                let counted = try await fixture.settle(sent, workers: workers)
                let balance = try await stage.balance(sent, workers: workers, scheduler: scheduler)
                let pushes = try await fixture.balance(sent, counted: counted)
                expectEven(balance, "\(fault.name), in \((.now - began).inSeconds)")
                expectEven(pushes, fault.name)
                expect(pushes, after: fault, unanswered: try await UnansweredAttempts(on: stage))
            }
        }
    }

    /// Returns good events and some malformed ones; the good ones are repeated if the fault is duplicates.
    private static func pieces(of fault: PushFault, for stage: Stage) -> [ProofMessage] {
        let traffic = Traffic(exchange: stage.names.events)
        let good = (0..<fault.size).map { traffic.good($0) }
        let bad = (0..<fault.size / 50).map { traffic.bad($0) }
        guard case .duplicates = fault.kind else { return good + bad }
        return good + good + bad
    }

    private func expect(_ pushes: PushBalance, after fault: PushFault, unanswered: UnansweredAttempts) {
        switch fault.repeats {
        case .never:
            // A slow machine may exceed a request's time limit; the workers record it. Nothing else is permitted.
            #expect(unanswered.areTimeouts, "\(unanswered)")
            #expect(pushes.unknown == unanswered.unknown, "\(pushes), \(unanswered)")
            #expect(pushes.counted == pushes.unknown, "\(pushes)")
            #expect(pushes.repeats <= pushes.unknown, "\(pushes)")
            #expect(pushes.attemptsWithoutRequest >= 0, "\(pushes)")
            #expect(pushes.attemptsWithoutRequest <= unanswered.count, "\(pushes), \(unanswered)")
        case .counted:
            #expect(pushes.unknown > 0, "the fault has done nothing")
            #expect(pushes.counted == pushes.unknown, "\(pushes)")
        case .countedByTheLedger:
            #expect(pushes.counted <= pushes.unknown, "\(pushes)")
        }
    }
}
