/// What `subscription.upserted` says of a device.
public struct SubscriptionUpdate: Hashable, Sendable {
    /// The user who holds the device now; a token belongs to the last one who registered it.
    public let user: UserID
    /// The device's address with its provider.
    public let token: DeviceToken
    /// The token that the device had before, where its provider has given it another.
    public let replaces: DeviceToken?
    /// What kind of device.
    public let platform: DevicePlatform
    /// Through whom it is reached.
    public let provider: PushProvider
    /// What messages to a browser are made with: `endpoint`, `keys.p256dh`, `keys.auth` and `vapidKeyID`.
    ///
    /// Nothing else of its `PushSubscription` is kept, which whoever registers it may make as long as a message; other
    /// providers' devices have none.
    public let subscription: FieldUpdate<JSONObject>
    /// What the user has answered the system.
    public let permission: FieldUpdate<PushPermission>
    /// Which of the provider's environments the token is for.
    public let environment: FieldUpdate<PushEnvironment>

    init(_ user: UserID, _ reader: FieldReader) throws(FieldFault) {
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
        let given = try reader.object("subscription")
        subscription = provider == .webpush ? .set(try Self.browser(token, given, reader)) : .unchanged
        permission = try reader.update("permission") { key throws(FieldFault) in try reader.word(key) }
        environment = try reader.update("environment") { key throws(FieldFault) in try reader.word(key) }
    }

    /// Without keys a browser cannot be reached, and its endpoint is where a server of ours will send to.
    private static func browser(
        _ token: DeviceToken,
        _ given: JSONObject?,
        _ reader: FieldReader
    ) throws(FieldFault) -> JSONObject {
        guard WebPushEndpoint(validating: token.text) != nil else {
            throw FieldFault(.invalidField, at: reader.place("token"), "expected \(WebPushEndpoint.rule)")
        }
        guard let given else {
            throw reader.missing("subscription", "the browser's PushSubscription as an object")
        }
        let subscription = FieldReader(given, at: reader.place("subscription"))
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
