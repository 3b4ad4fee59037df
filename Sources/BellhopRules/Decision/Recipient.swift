/// The known data of a user at the time of a decision.
public struct Recipient: Hashable, Sendable {
    /// The language of the texts; `nil` for the app's own.
    public var locale: LanguageTag?
    /// The user's time zone; `nil` for the app's own.
    public var timezone: TimeZoneName?
    /// Whether devices may be used.
    public var pushEnabled: Bool
    /// Whether the user may receive e-mail.
    public var emailEnabled: Bool
    /// The e-mail address; `nil` if none is known.
    public var email: EmailAddress?
    /// The user's preferences about types; `nil` if the catalogue's defaults apply.
    public var preferences: Preferences?
    /// The devices with active subscriptions.
    public var devices: [Device]
    /// The number of unread notifications; `nil` if no device shows a badge.
    public var unread: Int?

    /// Creates an unknown user: the defaults apply, and there are no devices.
    public init() {
        pushEnabled = true
        emailEnabled = true
        devices = []
    }
}
