import BellhopRules
import Push
import Store

/// What is sent of a delivery: a push to one device, or a mail to the user's address.
///
/// A mail is apart, so that looking at one thing of it does not copy all of its texts; a push is so by itself.
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

    /// The device that it goes to; nil for a mail.
    var device: Device? {
        if case .push(let message) = self { message.device } else { nil }
    }
}

/// A claimed delivery with what is to be sent, and the message of the broker that it came of.
///
/// An object, since it is handed from stage to stage and has two dozen texts in it: a copy would cost more than its push.
final class Shipment: Sendable {
    /// The position of that message in its batch.
    let index: Int
    let key: DeliveryKey
    let event: EventID
    /// That of its own event, whatever the push calls itself: a digest has one for itself.
    let ownType: EventType
    /// Attempts before this one.
    let attempts: Int
    /// It may have arrived already: the outcome of an earlier send is not known.
    let isRepeat: Bool
    /// After how many attempts its type gives it up; nil for the usual limit.
    let retryLimit: Int?
    let payload: Payload
    /// Claimed deliveries that go out in the same push, and share what becomes of it.
    let companions: [Companion]
    /// How long it may still be sent; nil for what has no line in the ledger.
    let lease: Lease?
    /// Its order among those that wait; nil for what has no line in the ledger.
    let priority: Priority?
    /// Its turn among those of its priority; nil for what was recorded just now, as the ledger knows.
    let queuedAt: Timestamp?
    /// Nil for what has no event.
    private let content: NotificationContent?

    /// A delivery that travels with another, and the position of its message in the batch.
    struct Companion: Sendable {
        let index: Int
        let key: DeliveryKey
        /// That of its own event, whatever the push calls itself.
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
        event = content.event
        retryLimit = type.retryLimit
        self.attempts = attempts
        self.isRepeat = isRepeat
        self.payload = payload
        ownType = payload.type
        self.lease = lease
        self.queuedAt = queuedAt
        priority = content.priority
        companions = []
        self.content = content
    }

    /// What is sent without a line in the ledger; its key names it for the log only.
    init(index: Int, key: DeliveryKey, event: EventID, message: PushMessage) {
        self.index = index
        self.key = key
        self.event = event
        payload = .push(message)
        ownType = message.type
        retryLimit = nil
        attempts = 0
        isRepeat = false
        companions = []
        lease = nil
        priority = nil
        queuedAt = nil
        content = nil
    }

    /// One push for many: `newest` goes out with other words, and takes the others along.
    ///
    /// Wherever they have to wait, they wait as one: at the turn of the oldest.
    init(_ newest: Shipment, with others: [Shipment], message: PushMessage) {
        index = newest.index
        key = newest.key
        event = newest.event
        retryLimit = newest.retryLimit
        attempts = others.reduce(newest.attempts) { max($0, $1.attempts) }
        isRepeat = newest.isRepeat || others.contains(where: \.isRepeat)
        payload = .push(message)
        ownType = newest.ownType
        lease = newest.lease
        priority = newest.priority
        queuedAt = ([newest] + others).compactMap(\.queuedAt).min()
        content = newest.content
        companions = others.map { Companion(index: $0.index, key: $0.key, type: $0.ownType) }
    }

    /// The positions of the messages of all deliveries, one for each delivery.
    static func indices(of shipments: [Shipment]) -> [Int] {
        var indices: [Int] = []
        indices.reserveCapacity(shipments.count)
        for shipment in shipments {
            indices.append(shipment.index)
            for companion in shipment.companions { indices.append(companion.index) }
        }
        return indices
    }

    /// The trace that its event's producer began.
    var trace: TraceParent? { content?.extras.trace }
    /// Whether its event was for a topic or for everyone.
    var isWide: Bool { content?.extras.isWide ?? false }

    var app: AppID { key.notification.recipient.app }
    var person: RecipientKey { key.notification.recipient }

    /// Its order among those that wait: what its lane carries, where that is less urgent than itself.
    ///
    /// A replay comes through the bulk lane whatever its type: thousands of old alarms stand behind each new one.
    func priority(in lane: Lane) -> Priority? {
        guard let priority else { return nil }
        return ([priority] + Priority.allCases.filter { $0.lane == lane }).max { $0.urgency < $1.urgency }
    }

    /// The types of all deliveries that it takes along; most often one.
    var types: Set<EventType> {
        companions.isEmpty ? [ownType] : Set(companions.map(\.type)).union([ownType])
    }

    var platform: DevicePlatform? { payload.device?.platform }
    /// Whether a push to its device was ever taken; a mail's address proves nothing.
    var wasReached: Bool { payload.device?.wasReached ?? false }

    /// Through whom it goes.
    var outlet: OutletKey {
        switch payload {
        case .push(let message): OutletKey(app: app, provider: message.device.provider)
        case .mail: .email(of: app)
        }
    }

    /// Which of APNs' environments it went to; nil at the others, who have one.
    var environment: PushEnvironment? {
        guard let device = payload.device, device.provider == .apns else { return nil }
        return device.environment ?? .production
    }
}
