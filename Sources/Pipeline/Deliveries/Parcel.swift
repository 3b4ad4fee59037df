import BellhopRules
import Push
import Store

/// A claimed delivery with what is to be sent, and the message of the broker that it came of.
///
/// An object, since it is handed from stage to stage and has two dozen texts in it: a copy would cost more than its push.
final class Parcel: Sendable {
    /// The position of that message in its batch.
    let index: Int
    let key: DeliveryKey
    let event: EventID
    /// Attempts before this one.
    let attempts: Int
    /// It may have arrived already: the outcome of an earlier send is not known.
    let isRepeat: Bool
    /// After how many attempts its type gives it up; nil for the usual limit.
    let retryLimit: Int?
    let cargo: Cargo
    /// Claimed deliveries that go out in the same push, and share what becomes of it.
    let companions: [Companion]
    /// How long it may still be sent; nil for what has no line in the ledger.
    let lease: Lease?

    /// A delivery that travels with another, and the position of its message in the batch.
    struct Companion: Sendable {
        let index: Int
        let key: DeliveryKey
    }

    init(
        index: Int,
        key: DeliveryKey,
        content: NotificationContent,
        type: CatalogType,
        attempts: Int = 0,
        isRepeat: Bool = false,
        cargo: Cargo,
        lease: Lease? = nil
    ) {
        self.index = index
        self.key = key
        event = content.event
        retryLimit = type.retryLimit
        self.attempts = attempts
        self.isRepeat = isRepeat
        self.cargo = cargo
        self.lease = lease
        companions = []
    }

    /// What is sent without a line in the ledger; its key names it for the log only.
    init(index: Int, key: DeliveryKey, event: EventID, message: PushMessage) {
        self.index = index
        self.key = key
        self.event = event
        cargo = .push(message)
        retryLimit = nil
        attempts = 0
        isRepeat = false
        companions = []
        lease = nil
    }

    /// One push for many: `newest` goes out with other words, and takes the others along.
    init(_ newest: Parcel, with others: [Parcel], message: PushMessage) {
        index = newest.index
        key = newest.key
        event = newest.event
        retryLimit = newest.retryLimit
        attempts = others.reduce(newest.attempts) { max($0, $1.attempts) }
        isRepeat = newest.isRepeat || others.contains(where: \.isRepeat)
        cargo = .push(message)
        lease = newest.lease
        companions = others.map { Companion(index: $0.index, key: $0.key) }
    }

    /// The positions of the messages of all deliveries, one for each delivery.
    static func indices(of parcels: [Parcel]) -> [Int] {
        var indices: [Int] = []
        indices.reserveCapacity(parcels.count)
        for parcel in parcels {
            indices.append(parcel.index)
            for companion in parcel.companions { indices.append(companion.index) }
        }
        return indices
    }

    var app: AppID { key.notification.recipient.app }
    var outlet: OutletKey { cargo.outlet(of: app) }
    var platform: DevicePlatform? { cargo.device?.platform }
}

/// What came of a parcel.
enum Arrival: Sendable, Equatable {
    case answered(Verdict)
    /// Its provider's window had no room within a second: nothing was sent, nothing is burned.
    case notStarted
    /// Its claim was nearly over when its turn came: nothing was sent, nothing is burned.
    case lapsed
    /// It has to wait, for reasons that are not its own: nothing is burned.
    case held(Hold)

    var isStarted: Bool {
        if case .answered = self { true } else { false }
    }
}
