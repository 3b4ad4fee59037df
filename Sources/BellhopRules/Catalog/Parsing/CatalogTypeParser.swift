/// Reads one type of a catalogue file.
struct CatalogTypeParser {
    /// The app's settings for all of its types.
    struct Common {
        let language: LanguageTag?
        let gaps: PlaceholderNames
        let quietHours: [DevicePlatform: QuietHoursPolicy]
        let hasDigest: Bool
        let audience: DefaultAudience?
        let android: AndroidOptions
        let apple: AppleOptions
        let clientNames: ClientNames
        let badgePlatforms: Set<DevicePlatform>
        /// Whether types without their own value set the badge.
        let hasBadge: Bool
        let tags: [CatalogTag]
    }

    let scope: JSONScope
    let common: Common

    /// Reads the type; `nil` if it has no valid priority.
    func type(_ type: EventType) -> CatalogType? {
        scope.expectKeys(CatalogKeys.type)
        let stated = scope.word("priority", as: Priority.self, required: true)
        let priority = stated ?? .normal
        let isMandatory = scope.flag("mandatory") ?? false
        let defaults = self.defaults(priority, isMandatory: isMandatory)
        let policies = [scope.quietHoursPolicies()] + (priority == .high ? [] : [common.quietHours])
        let outline = CatalogType.Builder(
            type: type,
            priority: priority,
            labels: scope.lines("label", common.language, required: true),
            icon: scope.line("icon"),
            color: scope.color("color"),
            background: scope.color("background"),
            isMandatory: isMandatory,
            pushByDefault: defaults.push,
            emailByDefault: defaults.email,
            whenMuted: whenMuted(isMandatory: isMandatory),
            roles: scope.list("roles", FollowRole.rule) { $0.string.flatMap(FollowRole.init(validating:)) }.map(
                Set.init
            ),
            audience: scope.object["audience"] == nil ? common.audience : scope.audience(common.gaps),
            burst: burst(priority),
            lifetime: scope.value("expiresAfter", Lifetime.rule) { $0.string.flatMap(Lifetime.init(validating:)) },
            quietHours: QuietHoursPolicies(policies, priority: priority),
            isGathered: isGathered(priority),
            retryLimit: scope.wholeNumber("retryLimit", 1...100),
            hasSound: scope.flag("sound") ?? (priority != .low),
            deviceUrgency: scope.word("deviceUrgency", as: Priority.self),
            clientNames: common.clientNames,
            badgePlatforms: scope.flag("badge") ?? common.hasBadge ? common.badgePlatforms : [],
            android: scope.android(over: common.android),
            apple: scope.apple(over: common.apple),
            link: scope.link(common.gaps),
            tags: scope.tags(of: common.tags),
            actions: scope.actions(common.language, common.gaps),
            words: scope.languages(common.language, common.gaps)
        )
        return stated == nil ? nil : CatalogType(outline)
    }

    private func defaults(_ priority: Priority, isMandatory: Bool) -> (push: Bool, email: Bool) {
        let defaults = scope.scope("defaults")
        defaults?.expectKeys(CatalogKeys.defaults)
        let push = defaults?.flag("push") ?? true
        if isMandatory, !push { defaults?.report("push", "a mandatory type is never off") }
        return (push, defaults?.flag("email") ?? (priority == .high))
    }

    private func whenMuted(isMandatory: Bool) -> CatalogType.WhenMuted {
        let stated = scope.word("whenMuted", as: CatalogType.WhenMuted.self)
        if isMandatory, stated != nil { scope.report("whenMuted", "a mandatory type is never muted") }
        return stated ?? .record
    }

    private func burst(_ priority: Priority) -> BurstPolicy? {
        guard let burst = scope.scope("burst") else { return nil }
        burst.expectKeys(CatalogKeys.burst)
        if priority == .high { scope.report("burst", "what has high priority cannot wait") }
        if common.hasDigest, scope.object["digest"]?.bool ?? (priority == .low) {
            scope.report("burst", "it is gathered for the digest already")
        }
        let window = burst.value("window", BurstPolicy.rule, required: true) { value in
            value.string.flatMap(Lifetime.init(validating:)).flatMap { $0.seconds <= BurstPolicy.longest ? $0 : nil }
        }
        return window.map(BurstPolicy.init)
    }

    private func isGathered(_ priority: Priority) -> Bool {
        let stated = scope.flag("digest")
        if stated == true, !common.hasDigest {
            scope.report("digest", "the app has no digest; describe one next to types")
        }
        if stated == true, priority == .high { scope.report("digest", "what has high priority cannot wait") }
        return common.hasDigest && (stated ?? (priority == .low))
    }
}

extension JSONScope {
    /// Reads the options for Android; missing ones are taken from `base`.
    func android(over base: AndroidOptions) -> AndroidOptions {
        guard let scope = scope("android") else { return base }
        scope.expectKeys(CatalogKeys.android)
        return AndroidOptions(
            channel: scope.line("channel") ?? base.channel,
            visibility: scope.word("visibility", as: AndroidOptions.Visibility.self) ?? base.visibility,
            importance: scope.word("importance", as: AndroidOptions.Importance.self) ?? base.importance,
            sound: scope.line("sound") ?? base.sound,
            icon: scope.line("icon") ?? base.icon,
            display: scope.word("display", as: AndroidOptions.Display.self) ?? base.display
        )
    }

    /// Reads the options for Apple's systems; missing ones are taken from `base`.
    func apple(over base: AppleOptions) -> AppleOptions {
        guard let scope = scope("apns") else { return base }
        scope.expectKeys(CatalogKeys.apple)
        let level = scope.word("interruptionLevel", as: AppleOptions.InterruptionLevel.self)
        return AppleOptions(
            sound: scope.line("sound") ?? base.sound,
            category: scope.line("category") ?? base.category,
            thread: scope.line("thread") ?? base.thread,
            interruptionLevel: level ?? base.interruptionLevel,
            isMutable: scope.flag("mutableContent") ?? base.isMutable
        )
    }
}

extension JSONScope {
    /// Reads `"everyone"`, or `{topic: …}`.
    func audience(_ gaps: PlaceholderNames) -> DefaultAudience? {
        guard object["audience"]?.object != nil else {
            return value("audience", "\"everyone\" or {topic: …}") { $0.string == "everyone" ? .everyone : nil }
        }
        let scope = scope("audience")
        scope?.expectKeys(CatalogKeys.audience)
        let text = scope?.value("topic", Topic.rule, required: true) { value in
            value.string.flatMap { Topic(validating: $0) == nil ? nil : $0 }
        }
        guard let scope, let text else { return nil }
        do {
            return .topic(try TopicTemplate(text, gaps))
        } catch {
            scope.report("topic", error.message)
            return nil
        }
    }
}
