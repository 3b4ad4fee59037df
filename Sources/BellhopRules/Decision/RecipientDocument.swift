/// What a file says of a user, to try the rules on: `bellhop decide` reads one.
///
/// The fields are those of `recipient.upserted`, and beside them `devices` (each with the fields of
/// `subscription.upserted` that a rule looks at), `follow` (how the user follows the event's topic, and with which of the
/// devices, if not with all) and `read` (whether they have read the notification). JSON5. A field that is `null` counts
/// as absent; an unknown key is a fault.
package struct RecipientDocument: Sendable {
    /// Whose file it is, where it says so.
    package let user: UserID?
    /// How the user follows the topic that the event is for.
    package let follow: DecisionFacts.Follow?
    /// Whether the user has read the notification in the app.
    package let isRead: Bool
    private let person: Recipient
    private let preferences: JSONObject?

    /// Reads a file; answers with everything that is wrong in it.
    package static func read(_ bytes: [UInt8], file: String) -> Result<RecipientDocument, CatalogFaults> {
        let reading = DocumentReading(bytes, file: file, limits: .event)
        let scope = reading.scope()?.knowing(Key.allCases.map(\.rawValue))
        return reading.result(scope.map(RecipientDocument.init))
    }

    /// The user as the pipeline would know them: with the preferences in the canonical form that feeds give them.
    ///
    /// - Returns: the user, and whether the preferences were complete and canonical already.
    package func recipient(of catalog: Catalog) -> (recipient: Recipient, isCanonical: Bool) {
        guard let preferences else { return (person, true) }
        let normalized = PreferenceDocument(normalizing: .object(preferences), schema: catalog.preferenceSchema)
        var recipient = person
        recipient.preferences = Preferences(normalized.json)
        return (recipient, !normalized.wasRepaired)
    }

    private init(_ scope: JSONScope) {
        user = scope.text(Key.userId.rawValue)
        follow = Self.follow(scope)
        isRead = scope.flag(Key.read.rawValue) ?? false
        preferences = scope.value(Key.preferences.rawValue, "an object", \.object)
        var person = Recipient()
        person.locale = scope.text(Key.locale.rawValue)
        person.timezone = scope.text(Key.timezone.rawValue)
        person.email = scope.text(Key.email.rawValue)
        person.pushEnabled = scope.flag(Key.pushEnabled.rawValue) ?? person.pushEnabled
        person.emailEnabled = scope.flag(Key.emailEnabled.rawValue) ?? person.emailEnabled
        person.devices = Self.devices(scope)
        self.person = person
    }

    private static func follow(_ scope: JSONScope) -> DecisionFacts.Follow? {
        let keys = ["role", "muted", "devices"]
        guard let scope = scope.scope(Key.follow.rawValue)?.knowing(keys) else { return nil }
        let devices: [String]? = scope.list("devices", "a device's place in the list, from 1") { value in
            value.number?.int64.map(String.init)
        }
        return DecisionFacts.Follow(
            role: scope.text("role"),
            isMuted: scope.flag("muted") ?? false,
            devices: devices.map(Set.init)
        )
    }

    private static func devices(_ scope: JSONScope) -> [Device] {
        scope.scopes(Key.devices.rawValue).enumerated().compactMap { device($1.knowing(deviceKeys), $0 + 1) }
    }

    /// A device is called by its place in the list, from 1.
    private static func device(_ scope: JSONScope, _ number: Int) -> Device? {
        let platform = scope.word("platform", as: DevicePlatform.self, required: true)
        let provider = scope.word("provider", as: PushProvider.self, required: true)
        let permission = scope.word("permission", as: PushPermission.self)
        let environment = scope.word("environment", as: PushEnvironment.self)
        let token = scope.text("token", as: DeviceToken.self) ?? DeviceToken(validating: "device-\(number)")
        guard let platform, let provider, let token else { return nil }
        return Device(
            subscription: String(number),
            token: token,
            platform: platform,
            provider: provider,
            permission: permission,
            environment: environment
        )
    }

    private static let deviceKeys = ["platform", "provider", "permission", "environment", "token"]

    private enum Key: String, CaseIterable {
        case userId, locale, timezone, email, preferences, pushEnabled, emailEnabled, devices, follow, read
    }
}

extension JSONScope {
    /// An identifier that need not be there.
    fileprivate func text<ID: TextIdentifier>(_ key: String, as type: ID.Type = ID.self) -> ID? {
        identifier(key, as: type, required: false)
    }
}
