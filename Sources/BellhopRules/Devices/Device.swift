/// A device that can be reached, as far as its subscription says.
public struct Device: Hashable, Sendable {
    /// The subscription's id, the ledger's `target`: stable when a token rotates.
    public var subscription: String
    /// The device's address; a secret that appears in the request and nowhere else.
    public var token: DeviceToken
    /// What kind of device.
    public var platform: DevicePlatform
    /// Through whom it is reached.
    public var provider: PushProvider
    /// What the user has answered the system; nil where nobody said.
    public var permission: PushPermission?
    /// Which of the provider's environments the token is for; nil where nobody said, which is production.
    public var environment: PushEnvironment?
    /// What messages for a browser are encrypted with; nil for other devices, and where they cannot be read.
    public var webPushKeys: WebPushKeys?
    /// Whether a push to it was ever taken; a token that was only handed in may be made up.
    public var wasReached: Bool

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

/// What kind of device a subscription is for.
public enum DevicePlatform: String, CaseIterable, Hashable, Sendable {
    /// iPhone, iPad.
    case ios
    /// Android.
    case android
    /// A browser.
    case web
}

/// Through whom a device is reached.
public enum PushProvider: String, CaseIterable, Hashable, Sendable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm
    /// Expo's push service.
    case expo
    /// Web Push (RFC 8030).
    case webpush
}

/// What a user has answered when the system asked whether the app may notify.
public enum PushPermission: String, CaseIterable, Hashable, Sendable {
    /// Yes.
    case granted
    /// No; final until the user changes it in the system's settings.
    case denied
    /// Not asked yet; browsers call it so.
    case `default`
    /// Not asked yet; Expo calls it so.
    case undetermined
    /// Quietly, on trial (iOS).
    case provisional
}

/// Which of a provider's environments a token was made for; APNs has two.
public enum PushEnvironment: String, CaseIterable, Hashable, Sendable {
    /// The app as the store distributes it.
    case production
    /// A development build.
    case sandbox
}
