import AMQP
import BellhopRules
import IntegrationSupport
import Push
import ServiceRuntime
import Settings
import Synchronization
import TestSupport
import Testing
import Tracing

@testable import Pipeline
@testable import Store

/// Processes batches with everything around them in memory.
final class InMemoryFixture: Sendable {
    let time = SkippingTime()
    let broker = MemoryBroker()
    let store: MemoryStore
    let provider: ScriptedSender
    let drain = DrainSignal()
    let worker: WorkerContext
    let catalogs: CatalogSource
    private let intake: Intake
    private let names: TopologyNames
    private let context: PipelineContext
    private let acknowledged = Mutex<Set<DeliveryTag>>([])
    private let givenUp = Mutex<[OpenMessages.Abandoned]>([])

    static let tiers = [10, 60].map { RetryTier(.seconds($0)) }
    static let app = "drop"

    /// Creates a fixture whose apps share one provider; the catalogue is that of drop, unless `catalogs` is another.
    init(
        seed: UInt64 = 1,
        retryLimit: Int = 3,
        budget: PushBudget? = nil,
        apps: [String] = [app],
        catalogs: CatalogSet? = nil,
        tracer: Tracer? = nil
    ) throws {
        provider = ScriptedSender(budget: budget)
        let chance = Mutex(SeededChance(seed))
        context = .test(time: time, chance: RandomSource { chance.withLock { $0.next() } }, tracer: tracer)
        store = MemoryStore(time: time)
        names = TopologyNames(try #require(Namespace("spine")))
        let ids = try apps.map { try #require(AppID(validating: $0)) }
        let senders = Dictionary(uniqueKeysWithValues: ids.map { [provider] in ($0, [PushProvider.fcm: provider]) })
        worker = WorkerContext(
            store: store,
            publisher: broker,
            names: names,
            outlets: Outlets(
                senders,
                prefetch: [:],
                context: .init(store: store, logger: context.logger, metrics: MetricsRegistry(), time: time)
            ),
            policy: DeliveryPolicy(ladder: RetryLadder(tiers: Self.tiers, limit: retryLimit), lease: .seconds(60))
        )
        self.catalogs = CatalogSource(try catalogs ?? ServerFixture.drop())
        intake = Intake(
            catalogs: self.catalogs,
            zones: ZoneLibrary(folder: "/usr/share/zoneinfo"),
            worker: worker,
            context: context
        )
    }

    // MARK: - Input

    /// Returns an event of a type that is never muted, as a producer publishes it.
    func event(
        _ id: String,
        to users: [String],
        title: String = "Hei",
        type: String = "security",
        redelivered: Bool = false
    ) -> IncomingMessage {
        message(Self.body(id, users, title), type: type, redelivered: redelivered)
    }

    /// Returns such an event with the given properties.
    func event(_ id: String, to users: [String], _ properties: MessageProperties) -> IncomingMessage {
        let way = (exchange: names.events, routingKey: "\(Self.app).security")
        return broker.arriving(Array(Self.body(id, users, "Hei").utf8), from: names.lane(.urgent), by: way, properties)
    }

    private static func body(_ id: String, _ users: [String], _ title: String) -> String {
        let users = users.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"id":"\#(id)","to":{"users":[\#(users)]},"title":"\#(title)","body":"på deg"}"#
    }

    func message(_ body: String, type: String = "security", redelivered: Bool = false) -> IncomingMessage {
        let queue = names.lane(.urgent)
        return broker.arriving(
            Array(body.utf8),
            from: queue,
            by: names.events,
            "\(Self.app).\(type)",
            redelivered: redelivered
        )
    }

    /// Returns the message of a page of a fan-out to everyone, with a successor that is not published yet.
    func page() throws -> IncomingMessage {
        let page = FanoutPage(fanout: 1, page: 0, priority: .high)
        let name = #""app":"drop","eventType":"security","id":"e""#
        let event = #"{\#(name),"to":{"everyone":true},"title":"Hei","body":"på deg"}"#
        let app = try #require(AppID(validating: Self.app))
        store.state.withLock { state in
            state.page = ClaimedPage(
                app: app,
                content: Array(event.utf8),
                contentHash: ContentHash(stored: Array(repeating: 0, count: 16)),
                further: [FanoutPage(fanout: 1, page: 1, priority: .high)],
                age: .zero,
                range: ClaimedPage.Range(app: app, topic: nil, snapshot: 0, after: "", upto: "z")
            )
        }
        let queue = names.resume(.urgent)
        return broker.arriving(PageMessage.body(page), from: queue, by: names.work, queue)
    }

    /// Returns a message of users who have read something, as the scheduler releases it.
    func readers(_ users: [String]) throws -> IncomingMessage {
        let message = BadgeMessage(recipients: try users.map(key))
        return broker.arriving(message.body, from: names.resume(.normal), by: names.work, names.resume(.normal))
    }

    /// Returns the resumes of all retry tiers, after the longest tier's delay.
    func resumes() -> [IncomingMessage] {
        let waiting = broker.take(from: "spine.retry.") + broker.take(from: names.work)
        if !waiting.isEmpty { time.skip(.seconds(61)) }
        return waiting.map { broker.arriving($0.body, from: names.resume(.urgent), by: $0.exchange, $0.routingKey) }
    }

    /// Adds a user with one device.
    func person(_ user: String, device: String, _ platform: DevicePlatform = .android) throws {
        var recipient = Recipient()
        recipient.devices = [
            Device(
                subscription: device,
                token: try #require(DeviceToken(validating: "token-\(device)")),
                platform: platform,
                provider: .fcm
            )
        ]
        let person = recipient
        let key = try key(user)
        store.state.withLock { $0.people[key] = person }
    }

    /// Mutes everything for the user that can be muted.
    func mute(_ user: String) throws {
        let key = try key(user)
        store.state.withLock { $0.people[key]?.preferences = Preferences(["enabled": false]) }
    }

    private func key(_ user: String) throws -> UserKey {
        UserKey(
            app: try #require(AppID(validating: Self.app)),
            user: try #require(UserID(validating: user))
        )
    }

    // MARK: - Results

    /// Processes one batch through a lane and returns the positions of its acknowledged messages.
    @discardableResult
    func take(_ messages: [IncomingMessage], lane: Lane = .urgent) async -> [Int] {
        let detached = DetachedWork()
        await withDiscardingTaskGroup { group in
            group.addTask { await detached.run() }
            let batchContext = Batch.Context(
                lane: lane,
                drain: drain,
                detached: detached,
                acknowledge: { [self] tags in acknowledged.withLock { $0.formUnion(tags) } },
                giveBack: { [self] messages in givenUp.withLock { $0 += messages } }
            )
            let stored = await intake.store(messages, batchContext)
            await intake.deliver(stored)
            await intake.expand(stored.pages, stored.batch)
            detached.finish()
        }
        return messages.indices.filter { isAcknowledged(messages[$0]) }
    }

    /// Returns the messages that batches have given up since the last call.
    func takeGivenUp() -> [OpenMessages.Abandoned] {
        givenUp.withLock { givenUp in
            defer { givenUp = [] }
            return givenUp
        }
    }

    /// Makes the database fail for these users from now on.
    func damage(_ users: [String]) throws {
        let users = try users.map { try key($0).user }
        store.state.withLock { $0.damaged = Set(users) }
    }

    /// Serves every backlog once, until nothing waits there or something blocks it.
    func pull() async {
        let puller = self.puller
        let pulls = PulledDeliverySender.Context(drain)
        await pulls.run {
            for backlog in worker.outlets.takeUnserved(at: time.steady(), among: Set(Priority.allCases)) {
                await puller.attend(to: backlog, pulls)
            }
        }
    }

    /// The outlet of the first app.
    var outlet: Outlet {
        get throws { try #require(worker.outlets[try Answered.shipment.outlet]) }
    }

    var puller: BacklogPuller { intake.puller(for: Lane.allCases) }

    /// Polls the backlogs, as a worker does once per second.
    func look() async {
        var poller = poller
        await poller.look(every: .seconds(1))
    }

    /// A poller of the worker's backlogs that has not polled yet.
    var poller: BacklogPoller {
        BacklogPoller(
            store: store,
            outlets: worker.outlets,
            metrics: context.metrics.backlogs,
            context: context
        )
    }

    /// The backlogs that this worker has recorded.
    var backlogs: [String] { worker.outlets.knownBacklogs.map(\.text).sorted() }

    func isAcknowledged(_ message: IncomingMessage) -> Bool {
        acknowledged.withLock { $0.contains(message.tag) }
    }

    /// Returns the states of all deliveries, by user and target.
    func lines() -> [String: String] {
        store.state.withLock { state in
            Dictionary(
                state.lines.map { ("\($0.notification.recipient.user.text) \($0.target)", $1.state.rawValue) },
                uniquingKeysWith: { "\($0)+\($1)" }
            )
        }
    }

    /// Returns the reasons of the dead letters, in order.
    func deadLetters() -> [String] {
        broker.messages(at: names.dead).map { $0.properties.headers["x-bellhop-reason"]?.text ?? "-" }
    }
}

/// A provider that returns scripted verdicts, and accepts everything without one.
final class ScriptedSender: PushSender {
    let provider = PushProvider.fcm
    let budget: PushBudget?
    private struct State {
        var script: [Verdict] = []
        /// The verdicts for single devices, which take precedence over the script.
        var ofDevices: [String: Verdict] = [:]
        var sent: [String] = []
        var numbers: [String: Int] = [:]
        var beforeAnswering: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())

    /// The devices that were sent to, in order.
    var sent: [String] { state.withLock { $0.sent } }

    /// The last badge of each device that was sent one.
    var numbers: [String: Int] { state.withLock { $0.numbers } }

    init(budget: PushBudget? = nil) {
        self.budget = budget
    }

    func answer(_ verdicts: [Verdict]) {
        state.withLock { $0.script += verdicts }
    }

    /// Sets the verdict for every send to this device from now on.
    func answer(_ verdict: Verdict, of device: String) {
        state.withLock { $0.ofDevices[device] = verdict }
    }

    /// Sets a closure that is called at every send.
    func beforeAnswering(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeAnswering = body }
    }

    func send(_ batch: [PushMessage]) async -> [Verdict] {
        state.withLock(\.beforeAnswering)()
        return state.withLock { state in
            batch.map { message in
                state.sent.append(message.device.subscription)
                if let badge = message.badge { state.numbers[message.device.subscription] = badge }
                if let verdict = state.ofDevices[message.device.subscription] { return verdict }
                return state.script.isEmpty ? .delivered(providerMessageID: nil) : state.script.removeFirst()
            }
        }
    }
}
