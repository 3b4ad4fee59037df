import BellhopRules
import IntegrationSupport
import Push
import ServiceRuntime
import Synchronization
import TestSupport
import Testing

@testable import Pipeline
@testable import Store

/// Tests of pushes to outlets without room, without servers.
@Suite("Dispatch to outlets, without servers", .timeLimit(.ofTest))
struct DispatcherTests {
    /// A clock that never advances, so that no deadline passes.
    private struct StoppedTime: TimeSource {
        private let start = ContinuousClock.now

        func now() -> Instant { .epoch }
        func steady() -> ContinuousClock.Instant { start }
        func sleep(for span: Duration) async throws { try await Task.sleep(for: .seconds(86_400)) }
    }

    /// The number of settled deliveries, by state.
    private final class Ends: Sendable {
        private let states = Mutex<[DeliveryState: Int]>([:])

        subscript(state: DeliveryState) -> Int { states.withLock { $0[state, default: 0] } }

        func add(_ dispositions: [Disposition]) {
            states.withLock { states in
                for disposition in dispositions { states[disposition.settlement.state, default: 0] += 1 }
            }
        }
    }

    private static func dispatcher(
        _ senders: [GatedSender],
        prefetch: [Lane: Int] = [:],
        _ store: MemoryStore,
        _ time: any TimeSource
    ) throws -> Dispatcher {
        let app = try #require(AppID(validating: "drop"))
        let context = PipelineContext.test(time: time, chance: .system)
        let providers = Dictionary(uniqueKeysWithValues: senders.map { ($0.provider, $0) })
        return Dispatcher(
            outlets: Outlets(
                [app: providers],
                prefetch: prefetch,
                context: .init(store: store, logger: context.logger, metrics: MetricsRegistry(), time: time)
            ),
            policy: DeliveryPolicy(ladder: RetryLadder(tiers: ServerFixture.tiers, limit: 3), lease: .seconds(60)),
            context: context
        )
    }

    /// Returns pushes to one device each, of separate messages.
    private static func shipments(_ count: Int, _ provider: PushProvider) throws -> [OutgoingDelivery] {
        let answer = Answered(person: "u", verdict: .delivered(providerMessageID: nil))
        return try (0..<count).map { try answer.shipment($0, provider) }
    }

    @Test("unresponsive outlets hold at most three quarters of a lane, and other pushes join a backlog immediately")
    func silent() async throws {
        let senders = [GatedSender(.fcm), GatedSender(.expo)]
        let dispatcher = try Self.dispatcher(
            senders,
            prefetch: [.normal: 64],
            MemoryStore(time: SkippingTime()),
            StoppedTime()
        )
        let batches = try (0..<8).map { try Self.shipments(16, senders[$0 % 2].provider) }
        let ends = Ends()
        try await withThrowingDiscardingTaskGroup { group in
            for batch in batches {
                group.addTask { await dispatcher.send(batch, lane: .normal) { ends.add($0) } }
            }
            defer { for sender in senders { sender.open() } }
            try await eventually("all but three quarters wait in the ledger") { ends[.deferred] == 80 }
            #expect(ends[.delivered] == 0)
        }
        #expect(ends[.delivered] == 48)
    }

    @Test("a full window draws nothing from the budget, for arriving or for pulled deliveries")
    func budget() async throws {
        let time = SkippingTime()
        let store = MemoryStore(time: time)
        let budget = PushBudget(name: "drop/fcm", pushes: 10, period: .seconds(10))
        let sender = GatedSender(window: 1, budget: budget)
        let dispatcher = try Self.dispatcher([sender], store, time)
        let shipments = try Self.shipments(5, .fcm)
        let ends = Ends()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await dispatcher.send(shipments, lane: .normal) { ends.add($0) } }
            defer { sender.open() }
            try await eventually("what has no place waits in the ledger") { ends[.deferred] == 3 }
            let outlet = try #require(dispatcher.outlets[shipments[0].outlet])
            let places = await dispatcher.places(upTo: 5, at: outlet, for: .normal)
            #expect(places == nil)
            let drawn = store.state.withLock { $0.drawn }
            #expect(drawn == 2)
        }
        #expect(ends[.delivered] == 2)
    }

    @Test("a delivery under a new hold that waits for a place is not sent, and returns place and budget")
    func heldMeanwhile() async throws {
        let time = SkippingTime()
        let store = MemoryStore(time: time)
        let budget = PushBudget(name: "drop/fcm", pushes: 10, period: .seconds(10))
        let sender = GatedSender(window: 1, budget: budget)
        let dispatcher = try Self.dispatcher([sender], store, StoppedTime())
        let shipments = try Self.shipments(4, .fcm)
        let ends = Ends()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await dispatcher.send(shipments, lane: .normal) { ends.add($0) } }
            defer { sender.open() }
            try await eventually("the window is full") { sender.tokens.count == 2 }
            store.state.withLock { $0.holds = [Self.hold(shipments[0].app)] }
            try await dispatcher.outlets.holds.load()
        }
        #expect(sender.tokens.count == 2)
        #expect(ends[.delivered] == 2)
        #expect(ends[.deferred] == 2)
        #expect(dispatcher.outlets[shipments[0].outlet]?.window.inFlight == 0)
    }

    @Test("a push that combines several types waits in the outlet's backlog if one of the other types is held")
    func severalTypes() async throws {
        let store = MemoryStore(time: SkippingTime())
        let dispatcher = try Self.dispatcher([GatedSender(isOpen: true)], store, StoppedTime())
        let newest = try Answered.shipment
        guard case .push(let message) = newest.payload else { throw ServerFixtureError("no push") }
        let held = try #require(EventType(validating: "security"))
        store.state.withLock { $0.holds = [Self.hold(newest.app, type: held)] }
        let holds = dispatcher.outlets.holds
        try await holds.load()
        let other = try #require(EventType(validating: "promo"))
        let words = PushMessage(
            app: message.app,
            notification: message.notification,
            type: other,
            words: (title: "", body: ""),
            device: message.device
        )
        let companion = OutgoingDelivery(index: 1, key: newest.key, event: newest.event, message: words)
        let alike = OutgoingDelivery(newest, with: [newest], message: words)
        let mixed = OutgoingDelivery(companion, with: [newest], message: words)
        #expect(holds.obstacle(at: newest.outlet, to: alike)?.backlog.text == "drop/fcm//security")
        #expect(holds.obstacle(at: newest.outlet, to: mixed)?.backlog.text == "drop/fcm")
        #expect(holds.obstacle(at: newest.outlet, to: companion) == nil)
        #expect(holds.types(heldAt: newest.outlet) == [held])
    }

    private static func hold(_ app: AppID, type: EventType? = nil) -> OperatorHold {
        OperatorHold(
            number: 1,
            scope: HoldScope(app: app, type: type),
            placedAt: DeadLetterSamples.now,
            operator: "ada",
            because: "a test"
        )
    }

    @Test("the part of a grant within the budget is sent, and the rest returns its places")
    func partlyAffordable() async throws {
        let time = SkippingTime()
        let store = MemoryStore(time: time)
        store.state.withLock { $0.budget = 3 }
        let budget = PushBudget(name: "drop/fcm", pushes: 10, period: .seconds(10))
        let dispatcher = try Self.dispatcher([GatedSender(budget: budget, isOpen: true)], store, time)
        let shipments = try Self.shipments(5, .fcm)
        let ends = Ends()
        await dispatcher.send(shipments, lane: .normal) { ends.add($0) }
        #expect(ends[.delivered] == 3)
        #expect(ends[.deferred] == 2)
        #expect(dispatcher.outlets[shipments[0].outlet]?.window.inFlight == 0)
    }
}
