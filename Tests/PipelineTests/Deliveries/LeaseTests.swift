import BellhopRules
import IntegrationSupport
import Push
import ServiceRuntime
import Store
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite(
    "Leases",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct LeaseTests {
    /// A provider that accepts every push and records its token.
    private final class Taker: PushSender {
        let provider = PushProvider.fcm
        let window = 10
        let budget: PushBudget? = nil
        private let taken = Mutex<[String]>([])
        var tokens: [String] { taken.withLock { $0 } }

        func send(_ batch: [PushMessage]) async -> [Verdict] {
            taken.withLock { $0 += batch.map(\.device.token.text) }
            return batch.map { _ in .delivered(providerMessageID: nil) }
        }
    }

    private static let app = AppID(validating: "drop")

    private static func shipment(_ index: Int, under lease: Lease?, _ servers: ServerFixture) throws -> OutgoingDelivery
    {
        let json = #"{"id":"e\#(index)","app":"drop","eventType":"system","to":{"user":"u"},"title":"Hei","body":""}"#
        guard case .event(let event) = try servers.submission(json), let catalog = servers.catalogs[event.app],
            let type = catalog[event.type]
        else { throw ServerFixtureError("not an event") }
        let content = NotificationContent(
            event: event,
            rendered: try catalog.render(event, language: nil).get(),
            priority: .normal,
            expiresAt: nil
        )
        let device = Device(
            subscription: "s\(index)",
            token: try #require(DeviceToken(validating: "t\(index)")),
            platform: .android,
            provider: .fcm
        )
        let id = NotificationID(bits: UInt64(index))
        let recipient = UserKey(app: event.app, user: try #require(UserID(validating: "u")))
        let message = PushMessage(
            app: event.app,
            notification: id,
            type: event.type,
            words: (title: "Hei", body: ""),
            device: device
        )
        return OutgoingDelivery(
            index: index,
            key: DeliveryKey(
                notification: NotificationKey(recipient: recipient, notification: id),
                channel: .push,
                target: device.subscription
            ),
            content: content,
            type: type,
            payload: .push(message),
            lease: lease
        )
    }

    @Test("a push that waits for its window until its lease is nearly over is not sent, and returns its place")
    func slowWindow() async throws {
        try await ServerFixture.withSchema { servers in
            let app = try #require(Self.app)
            let taker = Taker()
            let store = WorkerStore(pool: servers.pool, lease: .seconds(60))
            let outlets = Outlets(
                [app: [.fcm: taker]],
                prefetch: [:],
                context: .init(store: store, logger: PipelineContext.test.logger, metrics: MetricsRegistry())
            )
            let span = Duration.milliseconds(20)
            let ladder = RetryLadder(tiers: ServerFixture.tiers, limit: 3)
            let dispatcher = Dispatcher(
                outlets: outlets,
                policy: DeliveryPolicy(ladder: ladder, lease: span * 2),
                context: .test
            )
            let (old, young) = (Lease(), Lease())
            old.begin(at: .now)
            young.begin(at: .now + .seconds(3600))
            let window = try #require(outlets[OutletKey(app: app, provider: .fcm)]).window
            let far = ContinuousClock.now + .seconds(3600)
            let all = await window.acquire(Array(0..<20), for: .urgent, until: far, patience: .zero)
            let shipments = try [old, young, nil].enumerated().map { try Self.shipment($0, under: $1, servers) }
            let ends = RecordedOutcomes()
            async let sent: Void = dispatcher.send(shipments, lane: .normal) { dispositions in
                ends.add(dispositions)
            }
            try await eventually("they wait") { window.waiting == 1 || !ends.reasons.isEmpty }
            try await eventually("a lease is nearly over") { old.hasLasted(span, at: .now) }
            window.release(all, of: .urgent)
            await sent
            let reasons = ends.reasons
            #expect(reasons == [0: "lease-over", 1: "delivered", 2: "delivered"])
            #expect(taker.tokens == ["t1", "t2"])
            #expect(window.inFlight == 0)
        }
    }

    @Test("a lease begins with the earliest statement that claimed something, and not before one")
    func beginning() {
        let (lease, now) = (Lease(), ContinuousClock.now)
        #expect(!lease.hasLasted(.zero, at: now))
        lease.begin(at: now)
        lease.begin(at: now + .seconds(5))
        #expect(lease.hasLasted(.seconds(4), at: now + .seconds(5)))
        #expect(!lease.hasLasted(.seconds(5), at: now + .seconds(5)))
    }
}

/// The outcomes of deliveries, by the positions of their messages: the reason, or the state if there is none.
private final class RecordedOutcomes: Sendable {
    private let state = Mutex<[Int: String]>([:])

    var reasons: [Int: String] { state.withLock { $0 } }

    func add(_ dispositions: [Disposition]) {
        state.withLock { reasons in
            for one in dispositions { reasons[one.index] = one.settlement.reason ?? one.settlement.state.rawValue }
        }
    }
}
