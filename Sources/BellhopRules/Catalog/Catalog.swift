/// An app as its catalogue file describes it.
///
/// It is a class because every decision reads it and no code changes it.
public final class Catalog: Sendable {
    /// The app.
    public let app: AppID
    /// The language of users without one.
    ///
    /// All texts exist in this language.
    public let language: LanguageTag
    /// The zone of users without one.
    public let timezone: TimeZoneName
    /// The providers of the app's devices, in order of preference; `nil` for every provider.
    public let providers: [PushProvider]?
    /// The target of a tap if neither the event nor its type defines one, or if the type's link lacks a value.
    public let link: LinkTemplate?
    /// The outdated routes of events, with their replacements.
    public let routes: RouteRewrites
    /// The spelling and meaning of topics.
    public let topics: TopicRules
    /// Whether the id of an event without one is derived from its content.
    public let namesByContent: Bool
    /// The maximum number of individual low-priority pushes per user; `nil` for no limit.
    public let cap: PushCap?
    /// The settings page's texts in addition to the types' labels, with the defaults.
    public let settings: SettingsPage
    /// The times of digests; `nil` if the app has none.
    public let digest: DigestPolicy?
    /// The type of the notifications of users' reminders; `nil` if the app has none.
    public let reminderType: EventType?
    /// Whether users may set their own e-mail address, which is not verified.
    public let clientsMaySetEmail: Bool
    /// Whether the web inbox marks notifications as read when the user looks at them, and not only as seen.
    public let readOnView: Bool
    /// The tags of types, in the order of a list's filters.
    public let tags: [CatalogTag]
    /// The types in the order of the file, which is the order of a settings page.
    public let types: [CatalogType]
    /// The platforms on which at least one type sets the badge of the app's icon.
    ///
    /// If there are none, unread notifications need not be counted.
    public let badgePlatforms: Set<DevicePlatform>
    /// The conversions of other applications' messages into events of this app.
    package let mappings: [MessageMapping]
    private let positions: [EventType: Int]

    init(_ outline: Builder, types: [CatalogType], mappings: [MessageMapping]) {
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
        readOnView = outline.readOnView
        tags = outline.tags
        self.types = types
        self.mappings = mappings
        badgePlatforms = types.reduce(into: []) { $0.formUnion($1.badgePlatforms) }
        positions = Dictionary(types.enumerated().map { ($1.type, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// A catalogue without its types.
    struct Builder {
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
        let readOnView: Bool
        let tags: [CatalogTag]
    }

    /// The types that do not count in the number of unread notifications.
    package var uncountedTypes: [EventType] { types.filter { !$0.setsBadge }.map(\.type) }

    /// Returns the catalogue's entry for a type; `nil` if the type is unknown.
    public subscript(type: EventType) -> CatalogType? { position(of: type).map { types[$0] } }

    /// Returns the index of the type in `types`; `nil` if the type is unknown.
    ///
    /// This is cheaper than a copy of the type.
    func position(of type: EventType) -> Int? {
        // Comparing a few names takes less time than hashing one.
        guard types.count > Self.few else { return types.indices.first { types[$0].type == type } }
        return positions[type]
    }

    /// The number of types up to which a linear search is faster.
    private static let few = 12

    /// Returns whether the app reaches its devices through a provider.
    public func uses(_ provider: PushProvider) -> Bool { providers?.contains(provider) ?? true }

    /// The preferences that the app's users can set: the types on a settings page, in its order.
    public var preferenceSchema: PreferenceSchema {
        PreferenceSchema(
            toggles: types.filter { !$0.isMandatory }.map {
                PreferenceSchema.Toggle(
                    $0.type,
                    isOnByDefault: $0.pushByDefault,
                    isMailedByDefault: $0.emailByDefault
                )
            },
            quietHours: settings.quietHours
        )
    }

    /// Returns the provider for a device that does not name one; `nil` if the app has no suitable provider or more than
    /// one.
    ///
    /// Expo's tokens are recognised by their form, and any other token does not belong to Expo. A browser without a
    /// named provider uses Web Push.
    package func provider(for platform: DevicePlatform, token: DeviceToken) -> PushProvider? {
        let fitting: [PushProvider] =
            switch platform {
            case _ where token.isOfExpo: [.expo]
            case .ios: [.apns, .fcm]
            case .android: [.fcm]
            case .web: [.webpush]
            }
        let choice = fitting.filter(uses)
        return choice.count == 1 ? choice.first : nil
    }

    /// The schemes of the app's own URLs, such as `drop`.
    ///
    /// A client may follow links to these schemes in addition to its own site.
    package var schemes: [String] {
        let links = [link, digest?.link] + types.map(\.link) + types.flatMap { $0.actions.map(\.link) }
        let schemes = links.compactMap { $0?.scheme }.compactMap { template -> String? in
            guard case .words(let words)? = template.segments.first, let end = words.firstRange(of: "://") else {
                return nil
            }
            return words[..<end.lowerBound].lowercased()
        }
        return Set(schemes).sorted()
    }

    /// The languages in which every type has a label, with the app's own first.
    package var labelLanguages: [LanguageTag] {
        let shared = types.reduce(into: Set(types.first?.labels.keys.map { $0 } ?? [])) { shared, type in
            shared.formIntersection(type.labels.keys)
        }
        return [language] + shared.subtracting([language]).sorted { $0.text < $1.text }
    }

    /// Returns the catalogue's text in the user's language, in one that the user can read as well, or in the app's own
    /// language.
    package func words(_ phrases: [LanguageTag: String], for reader: LanguageTag?) -> String? {
        guard let reader else { return phrases[language] }
        let names = [reader.text, String(reader.language)] + LanguageSet.kin(of: reader.language)
        let found = names.lazy.compactMap(LanguageTag.init(validating:)).compactMap { phrases[$0] }.first
        return found ?? phrases[language]
    }
}
