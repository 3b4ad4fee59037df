/// The content of `subscription.upserted`.
public struct SubscriptionUpdate: Hashable, Sendable {
    /// The current user of the device; a token belongs to the user who registered it last.
    public let user: UserID
    /// The device's address at its provider.
    public let token: DeviceToken
    /// The device's former token, if its provider has issued a new one.
    public let replaces: DeviceToken?
    /// The kind of device.
    public let platform: DevicePlatform
    /// The provider through which the device is reached.
    public let provider: PushProvider
    /// The parts of a browser's `PushSubscription` that encryption needs: `endpoint`, `keys.p256dh`, `keys.auth` and
    /// `vapidKeyID`.
    ///
    /// The other parts are not stored, because a client may make them as long as a message. Devices of other providers
    /// have no such parts.
    public let subscription: FieldUpdate<JSONObject>
    /// The user's answer to the system's permission request.
    public let permission: FieldUpdate<PushPermission>
    /// The provider's environment for the token.
    public let environment: FieldUpdate<PushEnvironment>

    init(_ user: UserID, _ reader: JSONFieldReader) throws(FieldFault) {
        self.user = user
        token = try reader.required("token")
        let former: DeviceToken? = try reader.identifier("replaces")
        replaces = former == token ? nil : former
        guard let platform = try reader.word("platform", as: DevicePlatform.self) else {
            throw reader.missing("platform", JSONScope.oneOf(DevicePlatform.self))
        }
        guard let provider = try reader.word("provider", as: PushProvider.self) else {
            throw reader.missing("provider", JSONScope.oneOf(PushProvider.self))
        }
        self.platform = platform
        self.provider = provider
        try Self.check(provider, platform, token, reader)
        let given = try reader.object("subscription")
        subscription = provider == .webpush ? .set(try Self.browser(token, given, reader)) : .unchanged
        permission = try reader.update("permission") { key throws(FieldFault) in try reader.word(key) }
        environment = try reader.update("environment") { key throws(FieldFault) in try reader.word(key) }
    }

    /// Checks that the provider reaches such a device by such a token.
    ///
    /// A token whose form proves its provider makes the platform the wrong field.
    private static func check(
        _ provider: PushProvider,
        _ platform: DevicePlatform,
        _ token: DeviceToken,
        _ reader: JSONFieldReader
    ) throws(FieldFault) {
        guard provider.fits(token) else {
            throw FieldFault(.invalidField, at: reader.place("token"), "expected \(provider.tokenRule)")
        }
        guard !provider.platforms.contains(platform) else { return }
        let field = provider == .expo || provider == .webpush ? "platform" : "provider"
        let fault = "\(provider.rawValue) does not reach \(platform.rawValue); known are \(PushProvider.pairs)"
        throw FieldFault(.invalidField, at: reader.place(field), fault)
    }

    /// Checks the subscription of a browser.
    ///
    /// Without keys a browser cannot be reached, and the server will send requests to its endpoint.
    private static func browser(
        _ token: DeviceToken,
        _ given: JSONObject?,
        _ reader: JSONFieldReader
    ) throws(FieldFault) -> JSONObject {
        guard let given else {
            throw reader.missing("subscription", "the browser's PushSubscription as an object")
        }
        let subscription = JSONFieldReader(given, at: reader.place("subscription"))
        _ = try WebPushKeys(subscription)
        if let endpoint = subscription["endpoint"], endpoint != .string(token.text) {
            throw FieldFault(.invalidField, at: subscription.place("endpoint"), "expected the same as the token")
        }
        let keys = try subscription.object("keys")
        var kept: JSONObject = [
            "endpoint": .string(token.text),
            "keys": ["p256dh": keys?["p256dh"] ?? .null, "auth": keys?["auth"] ?? .null],
        ]
        if let id = subscription["vapidKeyID"] { kept["vapidKeyID"] = id }
        return kept
    }
}
