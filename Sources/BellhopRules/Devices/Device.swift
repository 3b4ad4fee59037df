/// A reachable device as its subscription describes it.
public struct Device: Hashable, Sendable {
    /// The subscription's id, which is the ledger's `target`; stable when a token rotates.
    public var subscription: String
    /// The device's address; a secret that appears only in the request.
    public var token: DeviceToken
    /// The kind of device.
    public var platform: DevicePlatform
    /// The provider through which the device is reached.
    public var provider: PushProvider
    /// The user's answer to the system's permission request; `nil` if unknown.
    public var permission: PushPermission?
    /// The provider's environment for the token; `nil` if unknown, which means production.
    public var environment: PushEnvironment?
    /// The keys that encrypt messages for a browser; `nil` for other devices, and if the keys cannot be read.
    public var webPushKeys: WebPushKeys?
    /// Whether a provider has ever accepted a push to the device.
    ///
    /// The token of an unreached device may be invented.
    public var wasReached: Bool
    /// The mark under which the first accepted push to an unreached device is recorded.
    ///
    /// `nil` if a release before these marks stored the device and its user has not changed since; such a device stays
    /// unreached.
    public var mark: String?

    /// Creates a device from stored values.
    public init(
        subscription: String,
        token: DeviceToken,
        platform: DevicePlatform,
        provider: PushProvider,
        permission: PushPermission? = nil,
        environment: PushEnvironment? = nil,
        webPushKeys: WebPushKeys? = nil,
        wasReached: Bool = false,
        mark: String? = nil
    ) {
        self.subscription = subscription
        self.token = token
        self.platform = platform
        self.provider = provider
        self.permission = permission
        self.environment = environment
        self.webPushKeys = webPushKeys
        self.wasReached = wasReached
        self.mark = mark
    }
}

/// The kind of device of a subscription.
public enum DevicePlatform: String, CaseIterable, Hashable, Sendable {
    /// An iPhone or iPad.
    case ios
    /// An Android device.
    case android
    /// A browser.
    case web
}

/// The provider through which a device is reached.
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

/// The user's answer to the system's request for permission to notify.
public enum PushPermission: String, CaseIterable, Hashable, Sendable {
    /// The user has allowed notifications.
    case granted
    /// The user has refused; this is final until the user changes it in the system's settings.
    case denied
    /// The user has not been asked, in the term of browsers.
    case `default`
    /// The user has not been asked, in Expo's term.
    case undetermined
    /// Notifications are shown quietly, on trial (iOS).
    case provisional
}

/// The provider's environment for which a token was created; APNs has two.
public enum PushEnvironment: String, CaseIterable, Hashable, Sendable {
    /// The app as the store distributes it.
    case production
    /// A development build.
    case sandbox
}
