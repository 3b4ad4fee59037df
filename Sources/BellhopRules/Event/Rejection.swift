/// A message that can never be delivered as it is: why, where, and whose it is as far as that could be read.
public struct Rejection: Error, Hashable, Sendable {
    /// The closed reason that dashboards group by.
    public let reason: RejectionReason
    /// The place of the fault in the body; the root where the body as a whole is at fault.
    public let pointer: JSONPointer
    /// What was expected and what kind of thing was found, for people; holds nothing of the message's content.
    public let message: String
    /// The app, where one is named legibly.
    ///
    /// It need not exist.
    public let app: AppID?
    /// The type, where one is named legibly.
    ///
    /// It need not exist.
    public let eventType: EventType?
    /// The event's id, where one is named legibly.
    public let eventID: EventID?

    /// A rejection found elsewhere than in parsing, such as an `id-conflict`.
    public init(
        reason: RejectionReason,
        pointer: JSONPointer,
        message: String,
        event: Event
    ) {
        self.init(FieldFault(reason, at: pointer, message), app: event.app, type: event.type, id: event.id)
    }

    init(_ fault: FieldFault, app: AppID?, type: EventType?, id: EventID?) {
        reason = fault.reason
        pointer = fault.pointer
        message = fault.message
        self.app = app
        eventType = type
        eventID = id
    }
}
