import BellhopRules
import Foundation
import Push
import TestSupport
import Testing

@testable import Pipeline

/// The words of the ledger are looked up by whoever is woken by them.
@Suite("docs/delivery-states.md")
struct DeliveryStatesPageTests {
    private static let ladder = RetryLadder(tiers: [], limit: 1)

    private static var page: String {
        get throws {
            return try Checkout.text("docs/delivery-states.md")
        }
    }

    /// The row of a reason in the table of what sending came to.
    private func row(_ reason: String) throws -> String {
        let rows = try Self.page.split(separator: "\n").filter { $0.hasPrefix("| `\(reason)` |") }
        try #require(rows.count == 1, "\(reason) has \(rows.count) rows")
        return String(rows[0])
    }

    @Test("what waits for its provider has a row for its reason, with the state that it waits in")
    func waiting() throws {
        let held = Hold.Cause.allCases.map { Self.ladder.step(after: Hold(cause: $0, wait: .seconds(7))) }
        for step in held + [Self.ladder.stepWhenNotStarted(), Self.ladder.stepWhenLapsed()] {
            guard case .postpone(_, let reason, false) = step else {
                Issue.record("without tiers only the database can wait: \(step)")
                continue
            }
            #expect(try row(reason).contains("no attempt is counted"))
        }
        #expect(try row("breaker").contains("| `deferred` |"))
    }

    @Test("what is given up has a row for its reason, with its dead letter or without")
    func givenUp() throws {
        let verdicts: [Verdict] = [
            .payloadError(.payloadTooLarge), .retry(.unavailable, notBefore: .zero, scope: .message),
            .configError(.certificate, scope: .device),
        ]
        for verdict in verdicts {
            guard case .giveUp(let reason, _) = Self.ladder.step(after: verdict, attempts: 0) else {
                Issue.record("not given up: \(verdict)")
                continue
            }
            #expect(try row(reason).contains("| `failed` |"))
            #expect(try row(reason).contains("dead letter"))
        }
        guard case .deviceGone(let reason) = Self.ladder.step(after: .payloadError(.mailboxUnknown), attempts: 0) else {
            Issue.record("an unknown mailbox is not treated as a device that is gone")
            return
        }
        #expect(try row(reason).contains("| `failed` |"))
        #expect(try !row(reason).contains("dead letter"))
        #expect(try row(ReceiptOutcome.missing).contains("| `unknown` |"))
    }

    @Test("every reason of the rules is named", arguments: SuppressionReason.allCases)
    func rules(reason: SuppressionReason) throws {
        #expect(try Self.page.contains("`\(reason.rawValue)`"))
    }
}
