import AMQP
import BellhopRules
import Push
import ServiceRuntime
import Store
import Synchronization
import TestSupport
import Testing
import Tracing
import Workbench

@testable import Pipeline

/// A batch's way with everything around it in memory.
final class SpineGround: Sendable {
    let time = SkippingTime()
    let broker = MemoryBroker()
    let store: MemoryStore
    let provider: ScriptedSender
    let drain = DrainSignal()
    let tools: WorkerTools
    let catalogs: CatalogSource
    private let intake: Intake
    private let names: TopologyNames
    private let context: PipelineContext
    private let acknowledged = Mutex<Set<DeliveryTag>>([])
    private let givenUp = Mutex<[OpenMessages.GivenUp]>([])

    static let tiers = [10, 60].map { RetryTier(.seconds($0)) }
    static let app = "drop"

    /// All of the apps have the one provider; the catalogue is that of drop, unless `catalogs` is another.
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
        context = .test(time: time, chance: Chance { chance.withLock { $0.next() } }, tracer: tracer)
        store = MemoryStore(time: time)
        names = TopologyNames(try #require(Namespace("spine")))
        let ids = try apps.map { try #require(AppID(validating: $0)) }
        let senders = Dictionary(uniqueKeysWithValues: ids.map { [provider] in ($0, [PushProvider.fcm: provider]) })
        tools = WorkerTools(
            store: store,
            publisher: broker,
            names: names,
            senders: SenderDirectory(senders, prefetch: [:], time: time),
            breakers: Breakers(store: store, time: time, logger: context.logger, metrics: MetricsRegistry()),
            policy: DeliveryPolicy(ladder: RetryLadder(tiers: Self.tiers, limit: retryLimit), lease: .seconds(60)),
            time: time
        )
        self.catalogs = CatalogSource(try catalogs ?? Bench.drop())
        intake = Intake(
            catalogs: self.catalogs,
            zones: ZoneLibrary(folder: "/usr/share/zoneinfo"),
            tools: tools,
            context: context
        )
    }

    // MARK: - What comes in

    /// An event of a type that is never muted, as a producer publishes it.
    func event(
        _ id: String,
        to users: [String],
        title: String = "Hei",
        type: String = "security",
        redelivered: Bool = false
    ) -> IncomingMessage {
        message(Self.body(id, users, title), type: type, redelivered: redelivered)
    }

    /// The same with properties that matter.
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

    /// Users who have read, as the scheduler hands them over.
    func readers(_ users: [String]) throws -> IncomingMessage {
        let message = BadgeMessage(recipients: try users.map(key))
        return broker.arriving(message.body, from: names.resume(.normal), by: names.work, names.resume(.normal))
    }

    /// What waits in retry tiers comes back when the longest of them is over.
    func resumes() -> [IncomingMessage] {
        let waiting = broker.take(from: "spine.retry.") + broker.take(from: names.work)
        if !waiting.isEmpty { time.skip(.seconds(61)) }
        return waiting.map { broker.arriving($0.body, from: names.resume(.urgent), by: $0.exchange, $0.routingKey) }
    }

    /// A user with one device.
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

    /// The user wants nothing of what may be silenced.
    func mute(_ user: String) throws {
        let key = try key(user)
        store.state.withLock { $0.people[key]?.preferences = Preferences(["enabled": false]) }
    }

    private func key(_ user: String) throws -> RecipientKey {
        RecipientKey(
            app: try #require(AppID(validating: Self.app)),
            user: try #require(UserID(validating: user))
        )
    }

    // MARK: - What becomes of it

    /// The whole way of one batch through a lane; what was acknowledged of it, by the places of the messages.
    @discardableResult
    func take(_ messages: [IncomingMessage], lane: Lane = .urgent) async -> [Int] {
        let asides = Asides()
        await withDiscardingTaskGroup { group in
            group.addTask { await asides.run() }
            let shift = Batch.Shift(
                lane: lane,
                drain: drain,
                asides: asides,
                acknowledge: { [self] tags in acknowledged.withLock { $0.formUnion(tags) } },
                giveBack: { [self] messages in givenUp.withLock { $0 += messages } }
            )
            let stored = await intake.store(messages, shift)
            await intake.deliver(stored)
            await intake.expand(stored.pages)
            asides.finish()
        }
        return messages.indices.filter { isAcknowledged(messages[$0]) }
    }

    /// What batches have given up since the last call.
    func takeGivenUp() -> [OpenMessages.GivenUp] {
        givenUp.withLock { givenUp in
            defer { givenUp = [] }
            return givenUp
        }
    }

    /// From now on the database fails on what concerns these users.
    func damage(_ users: [String]) throws {
        let users = try users.map { try key($0).user }
        store.state.withLock { $0.damaged = Set(users) }
    }

    /// Serves every backlog once, until nothing waits there any more or something holds it up.
    func pull() async {
        let puller = self.puller
        let shift = BacklogCarrier.Shift(drain)
        await shift.run {
            for key in tools.backlogs.takeUnserved(at: time.steady(), among: Set(Priority.allCases)) {
                await puller.attend(to: key, shift)
            }
        }
    }

    var puller: BacklogPuller { intake.puller(for: Lane.allCases) }

    /// Looks what waits, as a worker does once a second.
    func look() async {
        var watch = BacklogWatch(
            store: store,
            backlogs: tools.backlogs,
            brakes: tools.breakers.brakes,
            metrics: context.metrics.backlogs,
            context: context
        )
        await watch.look(at: tools.senders.keys, every: .seconds(1))
    }

    /// The backlogs of which this worker knows.
    var backlogs: [String] { tools.backlogs.known.map(\.text).sorted() }

    func isAcknowledged(_ message: IncomingMessage) -> Bool {
        acknowledged.withLock { $0.contains(message.tag) }
    }

    /// The states of a user's lines, by their targets.
    func lines() -> [String: String] {
        store.state.withLock { state in
            Dictionary(
                state.lines.map { ("\($0.notification.recipient.user.text) \($0.target)", $1.state.rawValue) },
                uniquingKeysWith: { "\($0)+\($1)" }
            )
        }
    }

    /// The reasons of the dead letters, in their order.
    func deadLetters() -> [String] {
        broker.messages(at: names.dead).map { $0.properties.headers["x-bellhop-reason"]?.text ?? "-" }
    }
}

/// A provider that answers what it is told to, and takes everything where it was told nothing.
final class ScriptedSender: PushSender {
    let provider = PushProvider.fcm
    let budget: PushBudget?
    private struct State {
        var script: [Verdict] = []
        /// What it says of a device each time, whatever the script says.
        var ofDevices: [String: Verdict] = [:]
        var sent: [String] = []
        var numbers: [String: Int] = [:]
        var beforeAnswering: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())

    /// To whom something went, in the order of sending.
    var sent: [String] { state.withLock { $0.sent } }

    /// The number that each device was told last, where it was told one.
    var numbers: [String: Int] { state.withLock { $0.numbers } }

    init(budget: PushBudget? = nil) {
        self.budget = budget
    }

    func answer(_ verdicts: [Verdict]) {
        state.withLock { $0.script += verdicts }
    }

    /// From now on, of this device.
    func answer(_ verdict: Verdict, of device: String) {
        state.withLock { $0.ofDevices[device] = verdict }
    }

    /// Calls this whenever something is sent.
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
