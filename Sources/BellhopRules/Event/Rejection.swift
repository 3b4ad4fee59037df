/// The permanent rejection of a message: reason, place, and the message's names if they can be read.
public struct Rejection: Error, Hashable, Sendable {
    /// The reason from a closed list, by which dashboards group rejections.
    public let reason: RejectionReason
    /// The place of the fault in the body; the root if the fault concerns the whole body.
    public let pointer: JSONPointer
    /// The expectation and the kind of the actual value, as text for operators; contains no part of the message's
    /// content.
    public let message: String
    /// The app, if a legible one is named.
    ///
    /// It need not exist.
    public let app: AppID?
    /// The type, if a legible one is named.
    ///
    /// It need not exist.
    public let eventType: EventType?
    /// The event's id, if a legible one is named.
    public let eventID: EventID?

    /// Creates a rejection for a fault that is found after parsing, such as an `id-conflict`.
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
