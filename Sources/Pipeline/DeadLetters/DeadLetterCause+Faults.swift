import AMQP
import BellhopRules
import Store

extension DeadLetterCause {
    /// Creates the cause of a message that violates a rule of the contract.
    init(_ rejection: Rejection) {
        let (reason, pointer) = (rejection.reason.rawValue, rejection.pointer.description)
        self.init(.intake, reason: reason, pointer: pointer, error: rejection.message)
        app = rejection.app?.text
        eventType = rejection.eventType?.text
        eventID = rejection.eventID?.text
    }
}

/// Faults that only the database can detect.
extension DeadLetterCause {
    /// Returns the cause of a conflict: another content exists already under this id, for one or more users of a
    /// message.
    static func conflict(_ records: [InboxRecord]) -> DeadLetterCause {
        let (whose, one) =
            records.count == 1 ? ("the user already has", records.first) : ("\(records.count) users already have", nil)
        let error = "\(whose) a notification of this event with other content"
        let content = records.first?.words.content
        var cause = recording(idConflict, error, records.first?.app, content?.type, content?.event)
        cause.user = one?.user.text
        return cause
    }

    static func conflict(_ plan: PlannedEvent) -> DeadLetterCause {
        recording(
            idConflict,
            "this event is kept already with other content",
            plan.event.app,
            plan.event.type,
            plan.event.id
        )
    }

    /// Returns the cause of a record that the database will never accept; `why` is its error without values.
    static func refused(_ record: InboxRecord, _ why: String) -> DeadLetterCause {
        let content = record.words.content
        var cause = recording(refusedByStore, why, record.app, content.type, content.event)
        cause.user = record.user.text
        return cause
    }

    static func refused(_ plan: PlannedEvent, _ why: String) -> DeadLetterCause {
        recording(refusedByStore, why, plan.event.app, plan.event.type, plan.event.id)
    }

    static func refused(_ cancellation: EventCancellation, _ why: String) -> DeadLetterCause {
        recording(refusedByStore, why, cancellation.app, nil, cancellation.event)
    }

    static func refused(_ entry: FeedEntry, _ why: String) -> DeadLetterCause {
        var cause = DeadLetterCause(.feed, reason: refusedByStore, error: why)
        cause.app = entry.update.app.text
        cause.eventType = entry.update.change.type.rawValue
        return cause
    }

    private static func recording(
        _ reason: String,
        _ error: String,
        _ app: AppID?,
        _ type: EventType?,
        _ event: EventID?
    ) -> DeadLetterCause {
        var cause = DeadLetterCause(.record, reason: reason, error: error)
        cause.app = app?.text
        cause.eventType = type?.text
        cause.eventID = event?.text
        return cause
    }

    private static let idConflict = RejectionReason.idConflict.rawValue

    /// The reason for a value that follows every rule of the contract but is rejected by the database.
    private static let refusedByStore = "refused-by-store"

    /// The reason for an internal message in a format that only a newer release reads.
    static let newerMessage = "newer-message"

    /// All reasons that Bellhop or the broker gives.
    static let knownReasons = Set(
        RejectionReason.allCases.map(\.rawValue) + AbandonReason.allCases.map(\.rawValue) + [
            refusedByStore, newerMessage, "delivery-limit", "maxlen", "expired", "rejected", "unexplained",
        ]
    )
}
