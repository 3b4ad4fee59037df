/// What is known of a user at the moment of deciding.
public struct Recipient: Hashable, Sendable {
    /// The language to write in; nil for the app's own.
    public var locale: LanguageTag?
    /// The zone whose clock counts; nil for the app's own.
    public var timezone: TimeZoneName?
    /// Whether devices may be used at all.
    public var pushEnabled: Bool
    /// Whether the user may be mailed.
    public var emailEnabled: Bool
    /// Where to; nil where nobody told.
    public var email: EmailAddress?
    /// What the user said about types; nil where the catalogue's defaults hold.
    public var preferences: Preferences?
    /// The devices whose subscriptions stand.
    public var devices: [Device]
    /// How many notifications are unread; nil where no device shows a number.
    public var unread: Int?

    /// A user of whom nothing is known: the defaults hold, and no device can be reached.
    public init() {
        pushEnabled = true
        emailEnabled = true
        devices = []
    }
}
