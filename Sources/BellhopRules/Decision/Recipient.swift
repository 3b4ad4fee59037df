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

/// A device that can be reached, as far as its subscription says.
public struct Device: Hashable, Sendable {
    /// The subscription's id: stable when a token rotates.
    public let subscription: String
    /// The device's address; a secret.
    public let token: DeviceToken
    /// What kind of device.
    public let platform: DevicePlatform
    /// Through whom it is reached.
    public let provider: PushProvider
    /// What the user has answered the system; nil where nobody said.
    public let permission: PushPermission?
    /// Which of the provider's environments the token is for; nil where nobody said.
    public let environment: PushEnvironment?
    /// What messages for a browser are encrypted with; nil for other devices, and where they cannot be read.
    public let webPushKeys: WebPushKeys?
    /// Whether a push to it was ever taken; a token that was only handed in may be made up.
    public let wasReached: Bool

    /// A device as it is stored.
    public init(
        subscription: String,
        token: DeviceToken,
        platform: DevicePlatform,
        provider: PushProvider,
        permission: PushPermission? = nil,
        environment: PushEnvironment? = nil,
        webPushKeys: WebPushKeys? = nil,
        wasReached: Bool = false
    ) {
        self.subscription = subscription
        self.token = token
        self.platform = platform
        self.provider = provider
        self.permission = permission
        self.environment = environment
        self.webPushKeys = webPushKeys
        self.wasReached = wasReached
    }
}
