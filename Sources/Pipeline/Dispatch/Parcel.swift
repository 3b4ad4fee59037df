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
    let attempts: Int
    /// It may have arrived already: the outcome of an earlier send is not known.
    let isRepeat: Bool
    let message: PushMessage

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
