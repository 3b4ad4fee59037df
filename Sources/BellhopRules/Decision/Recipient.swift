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

/// A file that describes a user, to test the rules; `bellhop decide` reads one.
///
/// The format is JSON5 with the fields of `recipient.upserted` and three more. `devices` contains the fields of
/// `subscription.upserted` that a rule uses. `follow` describes the user's follow of the event's topic, with the
/// devices if it is limited to some. `read` states whether the user has read the notification. A field that is `null`
/// counts as absent; an unknown key is a fault.
package struct RecipientDocument: Sendable {
    /// The user's id, if the file contains it.
    package let user: UserID?
    /// The user's follow of the event's topic.
    package let follow: DecisionFacts.Follow?
    /// Whether the user has read the notification in the app.
    package let isRead: Bool
    private let person: Recipient
    private let preferences: JSONObject?

    /// Reads a file; returns all of its faults if there are any.
    package static func read(_ bytes: [UInt8], file: String) -> Result<RecipientDocument, CatalogFaults> {
        let reading = DocumentReading(bytes, file: file, limits: .event)
        let scope = reading.scope()?.knowing(Key.allCases.map(\.rawValue))
        return reading.result(scope.map(RecipientDocument.init))
    }

    /// Returns the user as the pipeline would load it, with preferences in the canonical form that feeds give them.
    ///
    /// - Returns: the user, and whether the preferences were already complete and canonical.
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

    /// Reads a device; its id is its position in the list, counted from 1.
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
    /// Reads an optional identifier.
    fileprivate func text<ID: TextIdentifier>(_ key: String, as type: ID.Type = ID.self) -> ID? {
        identifier(key, as: type, required: false)
    }
}
