import BellhopRules
import Foundation
import Push
import Store
import TestSupport
import Testing

@testable import Pipeline

/// An operator who finds a reason in the ledger looks it up on this page.
@Suite("docs/delivery-states.md")
struct DeliveryStatesPageTests {
    private static let ladder = RetryLadder(tiers: [], limit: 1)

    private static var page: String {
        get throws {
            return try Checkout.text("docs/delivery-states.md")
        }
    }

    /// Returns a reason's row in the page's table of outcomes.
    private func row(_ reason: String) throws -> String {
        let rows = try Self.page.split(separator: "\n").filter { $0.hasPrefix("| `\(reason)` |") }
        try #require(rows.count == 1, "\(reason) has \(rows.count) rows")
        return String(rows[0])
    }

    @Test("every reason to wait has a row with the delivery's state")
    func waiting() throws {
        let shipment = try Answered.shipment
        for reason in WaitReason.allCases {
            let disposition = try #require(
                shipment.put(into: BacklogKey(shipment.outlet), from: .normal, because: reason).first
            )
            #expect(disposition.settlement.state == .deferred)
            #expect(disposition.settlement.dueIn == nil)
            #expect(disposition.tier == nil)
            #expect(!disposition.settlement.burnsAttempt)
            let row = try row(disposition.settlement.reason ?? "")
            #expect(row.contains("no attempt is counted"))
            #expect(row.contains("| `deferred` |"))
        }
    }

    @Test("every reason to give up a delivery has a row that states whether it becomes a dead letter")
    func givenUp() throws {
        let verdicts: [Verdict] = [
            .payloadError(.payloadTooLarge), .retry(.unavailable, notBefore: .zero, scope: .message),
            .configError(.certificate, scope: .device),
        ]
        for verdict in verdicts {
            let disposition = Self.ladder.disposition(of: try Answered.attempt, after: verdict)
            #expect(disposition.lastWord != nil)
            let row = try row(disposition.settlement.reason ?? "")
            #expect(row.contains("| `failed` |"))
            #expect(row.contains("dead letter"))
        }
        let gone = Self.ladder.disposition(of: try Answered.attempt, after: .payloadError(.mailboxUnknown))
        #expect(gone.lastWord == nil)
        let row = try row(gone.settlement.reason ?? "")
        #expect(row.contains("| `failed` |"))
        #expect(!row.contains("dead letter"))
        #expect(try self.row(ReceiptRules.missing).contains("| `unknown` |"))
    }

    @Test("every reason of the rules is named", arguments: SuppressionReason.allCases)
    func rules(reason: SuppressionReason) throws {
        #expect(try Self.page.contains("`\(reason.rawValue)`"))
    }
}
