/// Why a notification does not go out on one way to its user.
public enum SuppressionReason: String, CaseIterable, Hashable, Sendable {
    /// The user muted everything.
    case muted
    /// The user, or the catalogue's default, muted the type.
    case typeMuted = "type-muted"
    /// The user muted the topic that the event was for.
    case topicMuted = "topic-muted"
    /// The user does not follow the topic any more.
    case unfollowed
    /// The user follows the topic with other devices only.
    case otherDevice = "other-device"
    /// It is for followers in another role.
    case notAddressed = "not-addressed"
    /// The user's devices may not be used.
    case pushDisabled = "push-disabled"
    /// There is no device.
    case noDevice = "no-device"
    /// The system was not allowed to show anything on this device.
    case noPermission = "no-permission"
    /// It fell into quiet hours, which it does not survive on this kind of device.
    case quietHours = "quiet-hours"
    /// The user has read it in the app meanwhile.
    case alreadyRead = "already-read"
    /// A later one with the same collapse key has taken its place.
    case superseded
    /// The device's subscription ended meanwhile.
    case deviceGone = "device-gone"
    /// The user was erased meanwhile.
    case recipientErased = "recipient-erased"
    /// The catalogue no longer knows the type.
    case unknownType = "unknown-type"
    /// No provider is configured for this kind of device, or the app does not use it at present.
    case noProvider = "no-provider"
    /// The user may not be mailed.
    case emailDisabled = "email-disabled"
    /// The event says that it is never sent by e-mail, as reminders do.
    case notMailed = "not-mailed"
    /// No e-mail address is known.
    case noAddress = "no-address"
}
