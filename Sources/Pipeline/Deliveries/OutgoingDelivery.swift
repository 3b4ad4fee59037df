import BellhopRules
import Push
import Store
import Synchronization

/// The content of a delivery: a push to one device, or a mail to the user's address.
///
/// A mail is stored indirectly, so that access to one field does not copy all of its texts. A push already has indirect
/// storage.
enum Payload: Sendable {
    case push(PushMessage)
    indirect case mail(EmailMessage)

    var type: EventType {
        switch self {
        case .push(let message): message.type
        case .mail(let message): message.type
        }
    }

    var mail: EmailMessage? {
        if case .mail(let message) = self { message } else { nil }
    }

    var push: PushMessage? {
        if case .push(let message) = self { message } else { nil }
    }

    /// The device that receives the push; `nil` for a mail.
    var device: Device? { push?.device }
}

/// A claimed delivery with its content and the position of its broker message.
///
/// It is an object because it passes from stage to stage and contains two dozen texts. A copy would cost more than its
/// push.
final class OutgoingDelivery: Sendable {
    /// The position of that message in its batch.
    let index: Int
    let key: DeliveryKey
    /// Its event's type, which may differ from the type of the push.
    ///
    /// A digest has a separate type.
    let ownType: EventType
    /// The number of attempts before this one.
    let attempts: Int
    /// Whether it may have arrived already, because the outcome of an earlier send is unknown.
    let isRepeat: Bool
    /// The retry limit of its type; `nil` for the usual limit.
    let retryLimit: Int?
    let payload: Payload
    /// Claimed deliveries that are sent in the same push and share its outcome.
    let companions: [BundledDelivery]
    /// The lease within which it may be sent; `nil` for a shipment without a row in the ledger.
    let lease: Lease?
    /// Its priority in a backlog; `nil` for a shipment without a row in the ledger.
    let priority: Priority?
    /// Its turn within its priority; `nil` for a delivery that was just recorded, whose turn the ledger determines.
    let queuedAt: Timestamp?
    private let origin: Origin

    /// The event of a shipment.
    private enum Origin: Sendable {
        case content(NotificationContent)
        /// The event of a shipment without a row in the ledger.
        case event(EventID)
    }

    /// A delivery that is sent with another, and the position of its message in the batch.
    struct BundledDelivery: Sendable {
        let index: Int
        let key: DeliveryKey
        /// Its event's type, which may differ from the type of the push.
        let type: EventType
    }

    init(
        index: Int,
        key: DeliveryKey,
        content: NotificationContent,
        type: CatalogType,
        attempts: Int = 0,
        isRepeat: Bool = false,
        payload: Payload,
        lease: Lease? = nil,
        queuedAt: Timestamp? = nil
    ) {
        self.index = index
        self.key = key
        retryLimit = type.retryLimit
        self.attempts = attempts
        self.isRepeat = isRepeat
        self.payload = payload
        ownType = payload.type
        self.lease = lease
        self.queuedAt = queuedAt
        priority = content.priority
        companions = []
        origin = .content(content)
    }

    /// Creates a shipment without a row in the ledger; its key appears only in the log.
    init(index: Int, key: DeliveryKey, event: EventID, message: PushMessage) {
        self.index = index
        self.key = key
        payload = .push(message)
        ownType = message.type
        retryLimit = nil
        attempts = 0
        isRepeat = false
        companions = []
        lease = nil
        priority = nil
        queuedAt = nil
        origin = .event(event)
    }

    /// Creates one push for many deliveries: `newest` is sent with another text and includes the others.
    ///
    /// If they have to wait, they wait together, at the turn of the oldest.
    init(_ newest: OutgoingDelivery, with others: [OutgoingDelivery], message: PushMessage) {
        index = newest.index
        key = newest.key
        retryLimit = newest.retryLimit
        attempts = others.reduce(newest.attempts) { max($0, $1.attempts) }
        isRepeat = newest.isRepeat || others.contains(where: \.isRepeat)
        payload = .push(message)
        ownType = newest.ownType
        lease = newest.lease
        priority = newest.priority
        queuedAt = ([newest] + others).compactMap(\.queuedAt).min()
        origin = newest.origin
        companions = others.map { BundledDelivery(index: $0.index, key: $0.key, type: $0.ownType) }
    }

    /// Returns the message positions of all deliveries, one per delivery.
    static func indices(of shipments: [OutgoingDelivery]) -> [Int] {
        var indices: [Int] = []
        indices.reserveCapacity(shipments.count)
        for shipment in shipments {
            indices.append(shipment.index)
            for companion in shipment.companions { indices.append(companion.index) }
        }
        return indices
    }

    /// Its event.
    var event: EventID {
        switch origin {
        case .content(let content): content.event
        case .event(let event): event
        }
    }

    private var content: NotificationContent? { if case .content(let content) = origin { content } else { nil } }
    /// The trace that its event's producer started.
    var trace: TraceParent? { content?.trace }
    /// Whether its event was for a topic or for everyone.
    var isWide: Bool { content?.isWide ?? false }

    var app: AppID { key.notification.recipient.app }
    var person: UserKey { key.notification.recipient }

    /// Returns its priority in a backlog: the priority of its lane, if that is less urgent than its own.
    ///
    /// A replay uses the bulk lane whatever its type, so that thousands of old alarms wait behind each new one.
    func priority(in lane: Lane) -> Priority? {
        guard let priority else { return nil }
        return lane.priority.urgency > priority.urgency ? lane.priority : priority
    }

    /// The types of all deliveries that it includes, usually one.
    var types: Set<EventType> {
        companions.isEmpty ? [ownType] : Set(companions.map(\.type)).union([ownType])
    }

    var platform: DevicePlatform? { payload.push?.platform }
    /// Whether its device is a reached device; `false` for a mail, whose address proves nothing.
    var wasReached: Bool { payload.push?.wasReached ?? false }

    /// The outlet that sends it.
    var outlet: OutletKey {
        switch payload {
        case .push(let message): OutletKey(app: app, provider: message.provider)
        case .mail: .email(of: app)
        }
    }

    /// The APNs environment to which it is sent; `nil` for other providers, which have only one.
    var environment: PushEnvironment? {
        guard let push = payload.push, push.provider == .apns else { return nil }
        return push.device.environment ?? .production
    }
}

/// The beginning of the claim on some shipments, as determined without the database's clock.
///
/// It is the time before the claiming statement was sent, so the lease ends sooner here than in the database. The
/// shipments exist before that statement has an answer, and share one object.
///
/// Thread safety: the instant is behind a lock.
final class Lease: Sendable {
    private let beginning = Mutex<ContinuousClock.Instant?>(nil)

    /// Notes the send time of a statement that has claimed a delivery.
    ///
    /// Of several, the earliest counts.
    func begin(at instant: ContinuousClock.Instant) {
        beginning.withLock { $0 = min($0 ?? instant, instant) }
    }

    /// The beginning; `nil` if the lease has not begun.
    var start: ContinuousClock.Instant? { beginning.withLock { $0 } }

    /// Whether it has lasted for longer than `span`; `false` if it has not begun.
    func hasLasted(_ span: Duration, at now: ContinuousClock.Instant) -> Bool {
        beginning.withLock { $0.map { $0.duration(to: now) > span } ?? false }
    }
}

/// Identifies one app at one of its providers.
struct OutletKey: Hashable, Sendable {
    let app: AppID
    /// The provider's name in metrics and in the ledger.
    let provider: String

    init(app: AppID, provider: PushProvider) {
        self.app = app
        self.provider = provider.rawValue
    }

    /// Returns the key of the app's mail relay.
    static func email(of app: AppID) -> OutletKey { OutletKey(app: app, provider: "email") }

    /// Whether a single platform's devices can be blocked separately.
    var hasPlatforms: Bool { self != .email(of: app) }

    /// Creates the key of the whole outlet to which a part belongs.
    init(_ part: OutletScope) {
        self.init(app: part.app, provider: part.provider)
    }

    private init(app: AppID, provider: String) {
        self.app = app
        self.provider = provider
    }
}

extension OutletScope {
    /// Creates a part: the whole outlet, or one platform of it.
    init(_ outlet: OutletKey, platform: DevicePlatform? = nil) {
        self.init(app: outlet.app, provider: outlet.provider, platform: platform)
    }

    /// Creates the part for events of one type.
    init(_ outlet: OutletKey, type: EventType) {
        self.init(app: outlet.app, provider: outlet.provider, type: type)
    }

    func isOf(_ outlet: OutletKey) -> Bool {
        app == outlet.app && provider == outlet.provider
    }
}
