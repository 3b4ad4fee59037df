import BellhopRules
import Foundation
import Push
import ServiceRuntime
import TestSupport
import Testing

@testable import Pipeline
@testable import Store

@Suite("The gates of an outlet")
struct GateTests {
    /// Returns the rows of the table of gates in docs/architecture.md, each with its cells.
    private static func table() throws -> [[String]] {
        let page = try String(contentsOf: Checkout.file("docs/architecture.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").drop { !$0.hasPrefix("| gate |") }.prefix { $0.hasPrefix("|") }
        return rows.dropFirst(2).map { row in
            row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("the architecture lists the gates in their order, each with its reason")
    func documented() throws {
        let rows = try Self.table()
        #expect(rows.map(\.first) == Gate.allCases.map { "**\($0.rawValue)**" })
        #expect(rows.map(\.last) == Gate.allCases.map { "`\($0.reason.rawValue)`" })
    }

    @Test("of several closed gates, the first one defers a delivery, and the next one after it has opened")
    func order() async throws {
        let fixture = try InMemoryFixture()
        let outlets = fixture.worker.outlets
        let outlet = try fixture.outlet
        let shipment = try Answered.shipment
        let refusal = Verdict.configError(.permissionDenied, scope: .provider)
        let pause = Verdict.retry(.requestRate, notBefore: .seconds(5), scope: .provider)
        _ = await outlet.evaluate([refusal], of: [shipment], probing: nil)
        _ = await outlet.evaluate([pause], of: [shipment], probing: nil)
        fixture.store.state.withLock { state in
            state.holds = [
                OperatorHold(
                    number: 1,
                    scope: HoldScope(app: outlet.key.app),
                    placedAt: Timestamp(clamping: 0),
                    operator: "ada",
                    because: "a test"
                )
            ]
        }
        try await outlets.load()
        #expect(outlet.obstacle(to: shipment)?.gate == .hold)
        fixture.store.state.withLock { $0.holds = [] }
        try await outlets.load()
        #expect(outlet.obstacle(to: shipment)?.gate == .silence)
        fixture.time.skip(.seconds(6))
        #expect(outlet.obstacle(to: shipment)?.gate == .breaker)
        fixture.store.state.withLock { $0.breakers = [:] }
        await outlets.refresh()
        #expect(outlet.obstacle(to: shipment) == nil)
        #expect(outlet.isClear)
    }

    @Test("a report from the time of a mass failure counts no gone devices, also of answers after the breaker opened")
    func massFailure() async throws {
        let fixture = try InMemoryFixture()
        let outlet = try fixture.outlet
        let gone = Verdict.deviceGone(.unregistered, at: nil)
        let gones = { outlet.activity(at: fixture.time.timestamp).gone }
        outlet.count([gone, gone], took: .zero)
        #expect(gones() == 2)
        await outlet.open(BreakerKey(outlet.key), OpenBreaker.massDeath, isProbe: false)
        outlet.count([gone], took: .zero)
        #expect(gones() == 0)
        await outlet.close(BreakerKey(outlet.key))
        #expect(gones() == 0)
        outlet.count([gone], took: .zero)
        #expect(gones() == 1)
    }

    @Test("an open breaker of an outlet that is not configured here appears only in the metric, until it closes")
    func elsewhere() async throws {
        let fixture = try InMemoryFixture()
        let metrics = MetricsRegistry()
        let outlets = Outlets(
            [:],
            prefetch: [:],
            context: .init(store: fixture.store, logger: PipelineContext.test.logger, metrics: metrics)
        )
        let key = BreakerKey(try Answered.shipment.outlet)
        try await fixture.store.open(key, reason: "PERMISSION_DENIED")
        await outlets.refresh()
        #expect(metrics.text().contains(#"bellhop_breaker_open{app="drop",provider="fcm",platform=""} 1"#))
        _ = try await fixture.store.close(key)
        await outlets.refresh()
        #expect(metrics.text().contains(#"bellhop_breaker_open{app="drop",provider="fcm",platform=""} 0"#))
    }
}
