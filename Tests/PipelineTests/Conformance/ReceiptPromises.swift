import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Every store: receipts", .limitedConcurrency, .timeLimit(.ofTest))
struct ReceiptPromises {
    /// Records a notification and settles its delivery as accepted, sent an hour ago.
    private static func accept(_ fixture: StoreFixture) async throws -> (key: DeliveryKey, sentAt: Timestamp) {
        let claim = Claim.fresh
        let record = try #require(try await fixture.send(to: ["u1"], as: claim).first)
        let sentAt = try await fixture.now() - .seconds(3_600)
        var accepted = Settlement(record.line, .accepted, providerMessageID: "ticket-1", dueIn: .zero)
        accepted.sentAt = sentAt
        #expect(try await fixture.store.settle([accepted], of: claim) == 1)
        return (record.line, sentAt)
    }

    @Test("a claim of a receipt returns the data for the query and the result", arguments: StoreKind.available)
    func claiming(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (key, sentAt) = try await Self.accept(fixture)
            let open = try #require(try await fixture.store.claimReceipts([key], as: .fresh).first)
            #expect(open.key == key && open.ticket == "ticket-1" && open.attempts == 1)
            #expect(open.sentAt == sentAt && open.age >= .seconds(3_600) && open.age < .seconds(4_200))
            #expect(open.origin?.event.text == "e1" && open.origin?.type.text == "system")
            #expect(open.token == nil && open.priority == .low)
        }
    }

    @Test("of two claimers of a receipt only the later one settles, and only once", arguments: StoreKind.available)
    func race(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (key, _) = try await Self.accept(fixture)
            let claims = [Claim.fresh, .fresh]
            for claim in claims { #expect(try await fixture.store.claimReceipts([key], as: claim).count == 1) }
            let settlement = Settlement(key, .delivered, burnsAttempt: false)
            var counts: [Int] = []
            for claim in claims + [claims[1]] { counts.append(try await fixture.store.settle([settlement], of: claim)) }
            #expect(counts == [0, 1, 0])
            #expect(try await fixture.lines() == ["u1 delivered - 1 -"])
            #expect(try await fixture.store.claimReceipts([key], as: .fresh).isEmpty)
        }
    }

    @Test(
        "a receipt without a result keeps its send time and ticket and can be claimed again",
        arguments: StoreKind.available
    )
    func lookAgain(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (key, sentAt) = try await Self.accept(fixture)
            let claim = Claim.fresh
            _ = try await fixture.store.claimReceipts([key], as: claim)
            let later = Settlement(key, .accepted, burnsAttempt: false, dueIn: .seconds(1_800))
            #expect(try await fixture.store.settle([later], of: claim) == 1)
            let again = try #require(try await fixture.store.claimReceipts([key], as: .fresh).first)
            #expect(again.sentAt == sentAt && again.ticket == "ticket-1" && again.attempts == 1)
        }
    }

    @Test(
        "an accepted delivery is not claimed for another send, and a delivery without a receipt is not asked for",
        arguments: StoreKind.available
    )
    func separate(_ kind: StoreKind) async throws {
        try await StoreFixture.with(kind) { fixture in
            let (key, _) = try await Self.accept(fixture)
            try await fixture.pass(.seconds(600))
            #expect(try await fixture.store.claim([key.notification], as: .fresh).claimed.isEmpty)
            let sending = try #require(try await fixture.send("e2", to: ["u1"], as: .fresh).first)
            #expect(try await fixture.store.claimReceipts([sending.line], as: .fresh).isEmpty)
        }
    }
}
