/// The reason why a notification is not sent on one channel or to one device.
public enum SuppressionReason: String, CaseIterable, Hashable, Sendable {
    /// The user muted everything.
    case muted
    /// The user, or the catalogue's default, muted the type.
    case typeMuted = "type-muted"
    /// The user muted the topic that the event was for.
    case topicMuted = "topic-muted"
    /// The user no longer follows the topic.
    case unfollowed
    /// The user follows the topic only with other devices.
    case otherDevice = "other-device"
    /// The type is for followers in another role.
    case notAddressed = "not-addressed"
    /// The user's devices may not be used.
    case pushDisabled = "push-disabled"
    /// There is no device.
    case noDevice = "no-device"
    /// The system does not allow notifications on this device.
    case noPermission = "no-permission"
    /// The notification falls into quiet hours, and the policy for this platform discards it.
    case quietHours = "quiet-hours"
    /// The user has since read it in the app.
    case alreadyRead = "already-read"
    /// A later one with the same collapse key has replaced it.
    case superseded
    /// The device's subscription has since ended.
    case deviceGone = "device-gone"
    /// The user has since been erased.
    case recipientErased = "recipient-erased"
    /// The catalogue no longer has the type.
    case unknownType = "unknown-type"
    /// No provider is configured for this kind of device, or the app currently does not use it.
    case noProvider = "no-provider"
    /// The user may not receive e-mail.
    case emailDisabled = "email-disabled"
    /// The event must never be sent by e-mail, such as a reminder.
    case notMailed = "not-mailed"
    /// No e-mail address is known.
    case noAddress = "no-address"
}
