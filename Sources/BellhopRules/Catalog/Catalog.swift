/// An app as its catalogue file describes it.
///
/// An object, since every decision looks at it and none changes it.
public final class Catalog: Sendable {
    /// The app.
    public let app: AppID
    /// The language of users who have none, and the one in which all words exist.
    public let language: LanguageTag
    /// The zone of users who have none.
    public let timezone: TimeZoneName
    /// Through whom the app's devices are reached, in order of preference; nil for every provider.
    public let providers: [PushProvider]?
    /// Where a tap leads when neither the event nor its type says so, or when the type's link lacks a value.
    public let link: LinkTemplate?
    /// The routes of events that lead elsewhere by now.
    public let routes: RouteRewrites
    /// How topics are spelled, and what they are about.
    public let topics: TopicRules
    /// Whether an event without an id takes one from its content.
    public let namesByContent: Bool
    /// How many pushes of low priority a user gets by themselves; nil for any number.
    public let cap: PushCap?
    /// What the settings page says beside the types' labels, with the defaults.
    public let settings: SettingsPage
    /// When gathered notifications go out; nil where nothing is gathered.
    public let digest: DigestPolicy?
    /// What the notifications of users' reminders are; nil where the app has none.
    public let reminderType: EventType?
    /// Whether users may name the address that they are mailed at, which nobody confirms.
    public let clientsMaySetEmail: Bool
    /// The types in the order of the file, which is that of a settings page.
    public let types: [CatalogType]
    /// On which devices any type sets the number on the app's icon; where nobody sees it, nobody need count.
    public let badgePlatforms: Set<DevicePlatform>
    private let positions: [EventType: Int]

    init(_ outline: Outline, types: [CatalogType]) {
        app = outline.app
        language = outline.language
        timezone = outline.timezone
        providers = outline.providers
        link = outline.link
        routes = outline.routes
        topics = outline.topics
        namesByContent = outline.namesByContent
        cap = outline.cap
        settings = outline.settings
        digest = outline.digest
        reminderType = outline.reminderType
        clientsMaySetEmail = outline.clientsMaySetEmail
        self.types = types
        badgePlatforms = types.reduce(into: []) { $0.formUnion($1.badgePlatforms) }
        positions = Dictionary(types.enumerated().map { ($1.type, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// A catalogue but for its types.
    struct Outline {
        let app: AppID
        let language: LanguageTag
        let timezone: TimeZoneName
        let providers: [PushProvider]?
        let link: LinkTemplate?
        let routes: RouteRewrites
        let topics: TopicRules
        let namesByContent: Bool
        let cap: PushCap?
        let settings: SettingsPage
        let digest: DigestPolicy?
        let reminderType: EventType?
        let clientsMaySetEmail: Bool
    }

    /// What the catalogue says of a type, nil when it does not know it.
    public subscript(type: EventType) -> CatalogType? {
        positions[type].map { types[$0] }
    }

    /// Where the type stands in `types`, nil when the catalogue does not know it; cheaper than a copy of the type.
    func position(of type: EventType) -> Int? { positions[type] }

    /// Whether the app's devices are reached through a provider.
    public func uses(_ provider: PushProvider) -> Bool {
        providers?.contains(provider) ?? true
    }
}

extension Catalog {
    /// What the app's users may say about its types: those that a settings page lists, in its order.
    public var preferenceSchema: PreferenceSchema {
        PreferenceSchema(
            toggles: types.filter { !$0.isMandatory }.map {
                PreferenceSchema.Toggle($0.type, isOnByDefault: $0.pushByDefault)
            },
            quietHours: settings.quietHours
        )
    }
}
