/// What a producer asks for, understood and validated.
public enum Submission: Hashable, Sendable {
    /// Something happened, and somebody should hear of it.
    case event(Event)
    /// What belongs to a user or a device has changed.
    case feed(FeedUpdate)
    /// An event that waits for its `deliverAt` is taken back.
    case cancellation(app: AppID, eventID: EventID)
}
