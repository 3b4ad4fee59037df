import TestSupport
import Testing

extension Proofs {
    @Suite("Flood of malformed messages")
    struct FloodTests {
        private static let size = 10_000

        @Test("10,000 good messages among 10,000 malformed ones become rows, and the others unchanged dead letters")
        func flood() async throws {
            var chance = Proof.chance("flood")
            let alone = try await drainTime { traffic in (0..<Self.size).map { traffic.good($0) } }
            let among = try await drainTime { traffic in
                let pieces = (0..<Self.size).flatMap { [traffic.good($0), traffic.bad($0)] }
                return pieces.shuffled(using: &chance)
            }
            // A figure without a limit: it depends on the load of the host and on the build of the program.
            Proof.report("flood: good ones alone in \(alone.inSeconds), among as many malformed in \(among.inSeconds)")
        }

        /// Returns the time from the worker's start until the last good message is a row; all messages are ready
        /// before.
        private func drainTime(_ make: (Traffic) -> [ProofMessage]) async throws -> Duration {
            var span = Duration.zero
            try await Stage.with { stage in
                let pieces = make(Traffic(exchange: stage.names.events))
                let sent = try await Producer.with(try stage.broker) { try await $0.send(pieces) }
                let scheduler = try await stage.scheduler()
                let began = ContinuousClock.now
                let worker = try await stage.worker()
                try await eventually("all rows are there", atMost: .proof) {
                    try await stage.count("notifications") >= sent.records.count
                }
                span = ContinuousClock.now - began
                let balance = try await stage.balance(sent, workers: [worker], scheduler: scheduler)
                expectEven(balance, "flood of \(pieces.count)")
                #expect(balance.filed == pieces.count { !$0.isGood })
            }
            return span
        }
    }
}
