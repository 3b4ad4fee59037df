import TestSupport
import Testing

extension Proofs {
    @Suite("Flood of malformed messages")
    struct FloodTests {
        private static let size = 10_000

        @Test("10,000 malformed among 10,000 good ones: every good one is a row, every other a dead letter as it came")
        func flood() async throws {
            var chance = Proof.chance("flood")
            let alone = try await drainTime { traffic in (0..<Self.size).map { traffic.good($0) } }
            let among = try await drainTime { traffic in
                let pieces = (0..<Self.size).flatMap { [traffic.good($0), traffic.bad($0)] }
                return pieces.shuffled(using: &chance)
            }
            // A figure, no verdict: it depends on what else the machine does, and on how the program was built.
            Proof.report("flood: good ones alone in \(alone.inSeconds), among as many malformed in \(among.inSeconds)")
        }

        /// The time from the worker's first message until the last good one is a row; everything lies ready before.
        private func drainTime(_ make: (Traffic) -> [Piece]) async throws -> Duration {
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
