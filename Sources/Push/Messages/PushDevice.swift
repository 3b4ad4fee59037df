package import BellhopRules

/// The device that a message goes to, as its subscription describes it.
package struct PushDevice: Hashable, Sendable {
    /// The subscription's id, the ledger's `target`: it stays when the token changes.
    package var subscription: String

    /// A secret; it appears in the request and nowhere else.
    package var token: DeviceToken

    package var platform: DevicePlatform
    package var provider: PushProvider
    package var environment: PushEnvironment

    /// What messages for a browser are encrypted with; nil for other devices, and where they cannot be read.
    package var webPushKeys: WebPushKeys?

    /// Whether a push to it was ever taken; else the token may be made up, and nothing is concluded from it.
    package var wasReached: Bool

    package init(
        subscription: String,
        token: DeviceToken,
        platform: DevicePlatform,
        provider: PushProvider,
        environment: PushEnvironment = .production,
        webPushKeys: WebPushKeys? = nil,
        wasReached: Bool = false
    ) {
        self.subscription = subscription
        self.token = token
        self.platform = platform
        self.provider = provider
        self.environment = environment
        self.webPushKeys = webPushKeys
        self.wasReached = wasReached
    }
}
