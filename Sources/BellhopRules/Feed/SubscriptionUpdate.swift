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
    /// A browser's `PushSubscription` with its keys, for Web Push.
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
            throw reader.missing("platform", FieldReader.oneOf(DevicePlatform.self))
        }
        guard let provider = try reader.word("provider", as: PushProvider.self) else {
            throw reader.missing("provider", FieldReader.oneOf(PushProvider.self))
        }
        self.platform = platform
        self.provider = provider
        subscription = try reader.update("subscription") { key throws(FieldFault) in try reader.object(key) }
        if provider == .webpush { try Self.checkBrowser(token, reader) }
        permission = try reader.update("permission") { key throws(FieldFault) in try reader.word(key) }
        environment = try reader.update("environment") { key throws(FieldFault) in try reader.word(key) }
    }

    /// Without keys a browser cannot be reached, and its endpoint is where a server of ours will send to.
    private static func checkBrowser(_ token: DeviceToken, _ reader: FieldReader) throws(FieldFault) {
        guard WebPushEndpoint(validating: token.text) != nil else {
            throw FieldFault(.invalidField, at: reader.place("token"), "expected \(WebPushEndpoint.rule)")
        }
        guard let object = try reader.object("subscription") else {
            throw reader.missing("subscription", "the browser's PushSubscription as an object")
        }
        let subscription = FieldReader(object, at: reader.place("subscription"))
        _ = try WebPushKeys(subscription)
        guard let endpoint = subscription["endpoint"] else { return }
        guard endpoint == .string(token.text) else {
            throw FieldFault(.invalidField, at: subscription.place("endpoint"), "expected the same as the token")
        }
    }
}
