/// Reads one catalogue file.
///
/// Unknown keys are faults, and every fault is reported. A catalogue is returned only if its essential parts could be
/// read.
struct CatalogParser {
    let root: JSONScope
    let language: LanguageTag?
    let gaps: PlaceholderNames

    static func read(_ reading: DocumentReading) -> Catalog? {
        reading.scope().flatMap { CatalogParser($0).catalog() }
    }

    private init(_ root: JSONScope) {
        self.root = root
        root.expectKeys(CatalogKeys.app)
        language = root.identifier("language")
        gaps = root.phrases(language, .ofEvents(aliases: Self.aliases(root)))
    }

    private func catalog() -> Catalog? {
        let app = root.identifier("app", as: AppID.self)
        let timezone = root.identifier("timezone", as: TimeZoneName.self)
        let providers = root.words("providers", as: PushProvider.self)
        let link = root.link(gaps)
        let digest = self.digest()
        let settings = self.settings()
        let routes = self.routes()
        let topics = self.topics()
        let namesByContent = root.flag("idFromContent") ?? false
        let clientsMaySetEmail = root.flag("clientsMaySetEmail") ?? true
        let readOnView = root.flag("readOnView") ?? false
        let cap = self.cap(hasDigest: digest != nil)
        let tags = self.tags()
        let types = self.types(hasDigest: root.object["digest"] != nil, tags)
        checkUse(of: tags, by: types)
        let reminderType = self.reminderType(types)
        let mappings = MessageMappingParser(types: types).mappings(root)
        guard let app, let timezone, let language else { return nil }
        let outline = Catalog.Builder(
            app: app,
            language: language,
            timezone: timezone,
            providers: providers,
            link: link,
            routes: routes,
            topics: topics,
            namesByContent: namesByContent,
            cap: cap,
            settings: settings,
            digest: digest,
            reminderType: reminderType,
            clientsMaySetEmail: clientsMaySetEmail,
            readOnView: readOnView,
            tags: tags
        )
        return Catalog(outline, types: types, mappings: mappings)
    }

    /// Reads the alternative names for values in placeholders.
    private static func aliases(_ root: JSONScope) -> [String: String] {
        guard let scope = root.scope("aliases") else { return [:] }
        var aliases: [String: String] = [:]
        for member in scope.object.members {
            guard PlaceholderNames.isName(member.key), let name = member.value.string, PlaceholderNames.isName(name)
            else {
                scope.report(member.key, expected: "names of letters, digits, _ and - on both sides")
                continue
            }
            aliases[member.key] = name
        }
        return aliases
    }

    private func types(hasDigest: Bool, _ tags: [CatalogTag]) -> [CatalogType] {
        let common = CatalogTypeParser.Common(
            language: language,
            gaps: gaps,
            quietHours: root.quietHoursPolicies(),
            hasDigest: hasDigest,
            audience: root.audience(gaps),
            android: root.android(over: .none),
            apple: root.apple(over: .none),
            clientNames: clientNames(),
            badgePlatforms: Set(root.words("badgePlatforms", as: DevicePlatform.self) ?? [.ios]),
            hasBadge: root.flag("badge") ?? true,
            tags: tags
        )
        guard let scope = root.scope("types", required: true) else { return [] }
        if scope.object.isEmpty { root.report("types", expected: "at least one type") }
        return scope.object.members.compactMap { member in
            guard let type = EventType(validating: member.key) else {
                scope.report(member.key, "expected a type's name of \(EventType.rule)")
                return nil
            }
            if EventType.isReserved(member.key) {
                scope.report(member.key, "every app has this type; choose another name")
            }
            let inner = scope.scope(member.key, required: true)
            return inner.flatMap { CatalogTypeParser(scope: $0, common: common).type(type) }
        }
    }
}

/// The allowed keys of a catalogue file, by object; `docs/catalog.schema.json` defines the same for editors.
enum CatalogKeys {
    static let app = [
        "app", "language", "timezone", "providers", "aliases", "phrases", "link", "routes", "topics", "preferences",
        "audience", "quietHours", "digest", "cap", "reminders", "idFromContent", "clientData", "badge",
        "badgePlatforms", "android", "apns", "clientsMaySetEmail", "readOnView", "tags", "from", "types",
    ]
    static let mapping =
        ["only", "eventType", "types", "others"]
        + EventField.allCases.map(\.rawValue).filter { $0 != "app" && $0 != "eventType" }
    static let reminders = ["type"]
    static let type = [
        "priority", "label", "icon", "color", "background", "mandatory", "defaults", "whenMuted", "roles",
        "audience", "expiresAfter", "quietHours", "digest", "burst", "retryLimit", "sound", "deviceUrgency", "badge",
        "android", "apns",
        "templates", "link", "tags", "actions",
    ]
    static let action = ["label", "link"]
    static let link = ["web", "mobile", "scheme"]
    static let topics = ["foldCase", "venueId", "followable"]
    static let cap = ["perHour"]
    static let audience = ["topic"]
    static let burst = ["window"]
    static let preferences = ["master", "quietHours"]
    static let master = ["label"]
    static let quietHoursControls = ["label", "helper", "enabled", "startHour", "endHour"]
    static let platforms = DevicePlatform.allCases.map(\.rawValue)
    static let digest = ["at", "days", "titles", "templates", "link"]
    static let defaults = ["push", "email"]
    static let android = ["channel", "visibility", "importance", "sound", "icon", "display"]
    static let apple = ["sound", "category", "thread", "interruptionLevel", "mutableContent"]
    static let words = ["title", "body", "plain"]
    static let plainWords = ["title", "body"]
    static let clientData = ClientField.allCases.map(\.rawValue)
}
