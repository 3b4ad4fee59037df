import BellhopRules
import IntegrationSupport
import Push
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("Follow-up of an answer")
struct DispositionTests {
    @Test("deliveries that were sent in one message are retried at the same time")
    func together() throws {
        let ladder = RetryLadder(tiers: [10, 30].map { RetryTier(.seconds($0)) }, limit: 3)
        let policy = DeliveryPolicy(ladder: ladder, lease: .seconds(60))
        let source = Mutex(SeededChance(1))
        let chance = RandomSource { source.withLock { $0.next() } }
        let lines = try (0..<8).map { try Answered(person: "u", verdict: Self.later).shipment($0, .fcm) }
        guard case .push(let message) = lines[0].payload else { throw ServerFixtureError("no push") }
        let digest = OutgoingDelivery(lines[0], with: Array(lines.dropFirst()), message: message)
        var waits: Set<Duration?> = []
        for _ in 0..<64 {
            let now = Timestamp(clamping: 0)
            let all = policy.dispositions(of: [(digest, Self.later)], sentAt: now, using: chance)
            let own = Set(all.map(\.settlement.dueIn))
            #expect(all.count == 8)
            #expect(own.count == 1)
            waits.formUnion(own)
        }
        #expect(waits == [.seconds(10), .seconds(30)])
    }

    private static let later = Verdict.retry(.unavailable, notBefore: .zero, scope: .message)
}
