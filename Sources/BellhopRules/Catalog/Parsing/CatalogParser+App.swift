extension CatalogParser {
    /// Reads the app's settings for all of its types.
    func settings() -> SettingsPage {
        let scope = root.scope("preferences")
        scope?.expectKeys(CatalogKeys.preferences)
        let master = scope?.scope("master")
        master?.expectKeys(CatalogKeys.master)
        let controls = scope?.scope("quietHours")
        controls?.expectKeys(CatalogKeys.quietHoursControls)
        let usual = QuietHours.usual
        return SettingsPage(
            masterLabels: master?.lines("label", language, required: true) ?? [:],
            quietHoursLabels: controls?.lines("label", language) ?? [:],
            quietHoursHelpers: controls?.lines("helper", language) ?? [:],
            quietHours: QuietHours(
                enabled: controls?.flag("enabled") ?? usual.enabled,
                startHour: controls?.wholeNumber("startHour", 0...23) ?? usual.startHour,
                endHour: controls?.wholeNumber("endHour", 0...23) ?? usual.endHour
            )
        )
    }

    func digest() -> DigestPolicy? {
        guard let scope = root.scope("digest") else { return nil }
        scope.expectKeys(CatalogKeys.digest)
        let times = scope.list("at", LocalTime.rule, required: true) { $0.string.flatMap(LocalTime.init(validating:)) }
        let days = scope.words("days", as: Weekday.self)
        let gaps = PlaceholderNames.of(DigestPolicy.names)
        let words = scope.languages(language, gaps, required: true)
        let titleCount = scope.wholeNumber("titles", 1...20) ?? 3
        let link = scope.link(gaps)
        guard let times, !times.isEmpty else { return nil }
        return DigestPolicy(
            times: times.sorted { ($0.hour, $0.minute) < ($1.hour, $1.minute) },
            days: Set(days ?? Weekday.allCases),
            titleCount: titleCount,
            words: words,
            link: link
        )
    }

    /// Reads the type of reminders.
    ///
    /// It must be one of the app's types and need no data, because a reminder brings its own text.
    func reminderType(_ types: [CatalogType]) -> EventType? {
        guard let scope = root.scope("reminders") else { return nil }
        scope.expectKeys(CatalogKeys.reminders)
        guard let type = scope.identifier("type", as: EventType.self) else { return nil }
        guard types.contains(where: { $0.type == type }) else {
            scope.report("type", expected: "one of the app's types")
            return nil
        }
        return type
    }

    func routes() -> RouteRewrites {
        guard let scope = root.scope("routes") else { return RouteRewrites([]) }
        let expected = "paths such as /schema on both sides, with neither / nor ?, # at their ends"
        let rewrites = scope.object.members.compactMap { member -> RouteRewrites.Rewrite? in
            guard Self.isRoute(member.key), let new = member.value.string, Self.isRoute(new) else {
                scope.report(member.key, expected: expected)
                return nil
            }
            return RouteRewrites.Rewrite(old: member.key, new: new)
        }
        let table = RouteRewrites(rewrites)
        for rewrite in rewrites where table.rewritten(rewrite.new) != nil {
            scope.report(rewrite.old, "leads to a route that is rewritten itself")
        }
        return table
    }

    /// Returns whether the text is a path that can have other paths below it.
    private static func isRoute(_ text: String) -> Bool {
        IdentifierRules.isPlain(text, longest: FieldLimits.route) && text.utf8.first == UInt8(ascii: "/")
            && text.utf8.count > 1 && text.utf8.last != UInt8(ascii: "/")
            && !text.utf8.contains { "?#".utf8.contains($0) }
    }

    /// Reads the listed fields, each with its usual name (`true`) or another name; all fields if there is no list.
    func clientNames() -> ClientNames {
        guard let scope = root.scope("clientData") else { return .usual }
        scope.expectKeys(CatalogKeys.clientData)
        var chosen: [ClientField: String] = [:]
        for field in ClientField.allCases where scope.object[field.rawValue] != nil {
            let name = Self.clientName(of: field, scope.object[field.rawValue])
            guard let name, !chosen.values.contains(name) else {
                let other = field == .data ? "" : ", or another name of letters, digits, _ and - that nothing else has"
                scope.report(field.rawValue, expected: "true\(other)")
                continue
            }
            chosen[field] = name
        }
        return ClientNames(chosen: chosen)
    }

    /// Returns the client's name of a field.
    ///
    /// The members of `data` always keep their own names.
    private static func clientName(of field: ClientField, _ value: JSONValue?) -> String? {
        if value == .bool(true) { return field.rawValue }
        guard field != .data, let name = value?.string, PlaceholderNames.isName(name), name.utf8.count <= 64,
            !name.contains("."), !ClientNames.isReserved(name)
        else { return nil }
        return name
    }

    func topics() -> TopicRules {
        guard let scope = root.scope("topics") else { return TopicRules() }
        scope.expectKeys(CatalogKeys.topics)
        let expected = "a kind of topic such as safe, without a colon"
        let kinds = scope.list("foldCase", expected) { $0.string.flatMap(Self.kind) }
        return TopicRules(
            folding: kinds ?? [],
            venue: scope.text("venueId", expected) { Self.kind($0) != nil },
            followable: scope.list("followable", expected) { $0.string.flatMap(Self.kind) }
        )
    }

    private static func kind(_ text: String) -> String? {
        IdentifierRules.isPlain(text, longest: 64) && !text.utf8.contains(UInt8(ascii: ":")) ? text : nil
    }

    func cap(hasDigest: Bool) -> PushCap? {
        guard let scope = root.scope("cap") else { return nil }
        scope.expectKeys(CatalogKeys.cap)
        if !hasDigest { root.report("cap", "the app has no digest for pushes beyond the cap; describe one") }
        return scope.wholeNumber("perHour", 1...100, required: true).map(PushCap.init)
    }
}

extension JSONScope {
    /// Reads one policy for all platforms, or one for each of some platforms.
    func quietHoursPolicies() -> [DevicePlatform: QuietHoursPolicy] {
        let key = "quietHours"
        guard object[key]?.object != nil else {
            guard let policy = word(key, as: QuietHoursPolicy.self) else { return [:] }
            return Dictionary(uniqueKeysWithValues: DevicePlatform.allCases.map { ($0, policy) })
        }
        let scope = scope(key)
        scope?.expectKeys(CatalogKeys.platforms)
        var policies: [DevicePlatform: QuietHoursPolicy] = [:]
        for platform in DevicePlatform.allCases {
            policies[platform] = scope?.word(platform.rawValue, as: QuietHoursPolicy.self)
        }
        return policies
    }
}
