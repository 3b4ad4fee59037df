import BellhopRules
import Push
import Store

/// A claimed delivery with what is to be sent, and the message of the broker that it came of.
struct Parcel: Sendable {
    /// The position of that message in its batch.
    let index: Int
    let key: DeliveryKey
    let event: EventID
    /// Attempts before this one.
    var attempts: Int
    /// It may have arrived already: the outcome of an earlier send is not known.
    var isRepeat: Bool
    /// After how many attempts its type gives it up; nil for the usual limit.
    let retryLimit: Int?
    var message: PushMessage
    /// Claimed deliveries that go out in the same push, and share what becomes of it.
    var companions: [Companion] = []

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
        message: PushMessage
    ) {
        self.index = index
        self.key = key
        event = content.event
        retryLimit = type.retryLimit
        self.attempts = attempts
        self.isRepeat = isRepeat
        self.message = message
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
}

/// What came of a parcel.
enum Arrival: Sendable {
    case answered(Verdict)
    /// Its provider's window had no room within a second: nothing was sent, nothing is burned.
    case notStarted

    var isStarted: Bool {
        if case .answered = self { true } else { false }
    }
}
