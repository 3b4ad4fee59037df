/// What a file says of a user, to try the rules on: `bellhop decide` reads one.
///
/// The fields are those of `recipient.upserted`, and beside them `devices` (each with the fields of
/// `subscription.upserted` that a rule looks at), `follow` (how the user follows the event's topic) and `read` (whether
/// they have read the notification). JSON5. A field that is `null` counts as absent; an unknown key is a fault.
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
        let sink = CatalogFaultSink(file: file, bytes: bytes)
        let document = scope(bytes, sink).map(RecipientDocument.init)
        let faults = sink.faults.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
        guard let document, faults.isEmpty else { return .failure(CatalogFaults(faults: faults)) }
        return .success(document)
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

    private static func scope(_ bytes: [UInt8], _ sink: CatalogFaultSink) -> CatalogScope? {
        let parser = JSONParser(dialect: .json5, limits: .event)
        switch bytes.withUnsafeBufferPointer({ parser.document($0, recordingPlaces: true) }) {
        case .failure(let fault):
            sink.report(fault)
            return nil
        case .success(let document):
            sink.places = document.places
            guard case .object(let object) = document.root else {
                sink.report(.root, "expected an object, found \(document.root.describedKind)")
                return nil
            }
            return CatalogScope(object: object, place: .root, sink: sink).knowing(Key.allCases.map(\.rawValue))
        }
    }

    private init(_ scope: CatalogScope) {
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

    private static func follow(_ scope: CatalogScope) -> DecisionFacts.Follow? {
        guard let scope = scope.scope(Key.follow.rawValue)?.knowing(["role", "muted"]) else { return nil }
        return DecisionFacts.Follow(role: scope.text("role"), isMuted: scope.flag("muted") ?? false)
    }

    private static func devices(_ scope: CatalogScope) -> [Device] {
        let key = Key.devices.rawValue
        let elements = scope.value(key, "a list", \.array) ?? []
        return elements.enumerated().compactMap { index, element in
            let place = scope.place.key(key).index(index)
            guard let object = element.object else {
                scope.sink.report(place, "expected an object, found \(element.describedKind)")
                return nil
            }
            let scope = CatalogScope(object: object, place: place, sink: scope.sink).knowing(deviceKeys)
            return device(scope, index + 1)
        }
    }

    /// A device is called by its place in the list, from 1.
    private static func device(_ scope: CatalogScope, _ number: Int) -> Device? {
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

extension CatalogScope {
    /// An identifier that need not be there.
    fileprivate func text<ID: TextIdentifier>(_ key: String, as type: ID.Type = ID.self) -> ID? {
        value(key, ID.rule) { $0.string.flatMap(ID.init(validating:)) }
    }

    /// The same without the members that are `null`, as serializers write it for what is absent; reports unknown keys.
    fileprivate func knowing(_ keys: [String]) -> CatalogScope {
        expectKeys(keys)
        let members = object.members.filter { $0.value != .null }
        return CatalogScope(object: JSONObject(unique: members), place: place, sink: sink)
    }
}
