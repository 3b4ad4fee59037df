import AMQP
import BellhopRules
import Store

/// Why a message, or one user's part of it, cannot be delivered by trying again.
struct Fault: Sendable {
    /// The stage of the pipeline that gave up.
    enum Stage: String, Sendable {
        case intake
        case record
        case feed
        case resume
        case dispatch
        case receipt
    }

    var stage: Stage
    var reason: String
    var pointer: String?
    /// In words, without the offending content.
    var error: String
    var app: String?
    var eventType: String?
    var eventID: String?
    var user: String?
    var provider: String?
    /// The replay that the message came through; nil for one that comes for the first time.
    var replay: Replayed?

    init(_ rejection: Rejection) {
        stage = .intake
        reason = rejection.reason.rawValue
        pointer = rejection.pointer.description
        error = rejection.message
        app = rejection.app?.text
        eventType = rejection.eventType?.text
        eventID = rejection.eventID?.text
    }

    init(_ stage: Stage, reason: String, pointer: String? = nil, error: String) {
        self.stage = stage
        self.reason = reason
        self.pointer = pointer
        self.error = error
    }

}

/// The faults that only the database can see.
extension Fault {
    /// Other words were there already under this id, for one or more of the users of a message.
    static func conflict(_ records: [InboxRecord]) -> Fault {
        var fault = Fault(
            .record,
            reason: RejectionReason.idConflict.rawValue,
            error: records.count == 1
                ? "the user already has a notification of this event with other content"
                : "\(records.count) users already have a notification of this event with other content"
        )
        guard let first = records.first else { return fault }
        fault.name(first.app, first.words.content.type, first.words.content.event)
        if records.count == 1 { fault.user = first.user.text }
        return fault
    }

    static func conflict(_ plan: PlannedEvent) -> Fault {
        var fault = Fault(
            .record,
            reason: RejectionReason.idConflict.rawValue,
            error: "this event is kept already with other content"
        )
        fault.name(plan.event.app, plan.event.type, plan.event.id)
        return fault
    }

    /// The database will never take it; `why` is its word, without values.
    static func refused(_ record: InboxRecord, _ why: String) -> Fault {
        var fault = Fault(.record, reason: refusedByStore, error: why)
        fault.name(record.app, record.words.content.type, record.words.content.event)
        fault.user = record.user.text
        return fault
    }

    static func refused(_ plan: PlannedEvent, _ why: String) -> Fault {
        var fault = Fault(.record, reason: refusedByStore, error: why)
        fault.name(plan.event.app, plan.event.type, plan.event.id)
        return fault
    }

    static func refused(_ cancellation: EventCancellation, _ why: String) -> Fault {
        var fault = Fault(.record, reason: refusedByStore, error: why)
        fault.name(cancellation.app, nil, cancellation.event)
        return fault
    }

    static func refused(_ entry: FeedEntry, _ why: String) -> Fault {
        var fault = Fault(.feed, reason: refusedByStore, error: why)
        fault.app = entry.update.app.text
        fault.eventType = entry.update.change.type.rawValue
        return fault
    }

    /// A delivery that was given up; `lastReason` is the provider's last word.
    init(_ parcel: Parcel, reason: String, lastReason: String) {
        self.init(.dispatch, reason: reason, error: "\(parcel.outlet.provider) said \(lastReason)")
        app = parcel.app.text
        eventID = parcel.event.text
        eventType = parcel.cargo.type.text
        user = parcel.key.notification.recipient.user.text
        provider = parcel.outlet.provider
    }

    /// Beside the reasons of the contract, which are about the message: a value that keeps every rule and that the
    /// database still does not take.
    private static let refusedByStore = "refused-by-store"

    /// All reasons that we or the broker give.
    static let knownReasons = Set(
        RejectionReason.allCases.map(\.rawValue) + [
            refusedByStore, "payload-refused", "attempts-exhausted", "delivery-limit", "maxlen", "expired", "rejected",
            "unexplained",
        ]
    )

    private mutating func name(_ app: AppID, _ type: EventType?, _ event: EventID) {
        self.app = app.text
        eventType = type?.text
        eventID = event.text
    }
}
