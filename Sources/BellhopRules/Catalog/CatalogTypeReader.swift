/// Reads one type of a catalogue file.
struct CatalogTypeReader {
    let scope: CatalogScope
    let language: LanguageTag?
    let gaps: GapNames

    /// The type, or nil where it has no priority; `quietHours` is what the app says for all types.
    func type(
        _ type: EventType,
        quietHours: [DevicePlatform: QuietHoursPolicy],
        hasDigest: Bool
    ) -> CatalogType? {
        scope.expectKeys(CatalogKeys.type)
        let stated = scope.word("priority", as: Priority.self, required: true)
        let priority = stated ?? .normal
        let isMandatory = scope.flag("mandatory") ?? false
        let defaults = self.defaults(priority, isMandatory: isMandatory)
        let policies = [scope.quietHoursPolicies()] + (priority == .high ? [] : [quietHours])
        let read = CatalogType(
            type: type,
            priority: priority,
            labels: scope.lines("label", language, required: true),
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
            lifetime: scope.value("expiresAfter", Lifetime.rule) { $0.string.flatMap(Lifetime.init(validating:)) },
            quietHours: QuietHoursPolicies(policies, priority: priority),
            isGathered: isGathered(priority, hasDigest: hasDigest),
            retryLimit: scope.wholeNumber("retryLimit", 1...100),
            hasSound: scope.flag("sound") ?? (priority != .low),
            setsBadge: scope.flag("badge") ?? true,
            android: android(),
            apple: apple(),
            link: scope.link(gaps),
            words: scope.languages(language, gaps)
        )
        return stated == nil ? nil : read
    }

    private func defaults(_ priority: Priority, isMandatory: Bool) -> (push: Bool, email: Bool) {
        let defaults = scope.scope("defaults")
        defaults?.expectKeys(CatalogKeys.defaults)
        let push = defaults?.flag("push") ?? true
        if isMandatory, !push { defaults?.contradiction("push", "a mandatory type is never off") }
        return (push, defaults?.flag("email") ?? (priority == .high))
    }

    private func whenMuted(isMandatory: Bool) -> CatalogType.WhenMuted {
        let stated = scope.word("whenMuted", as: CatalogType.WhenMuted.self)
        if isMandatory, stated != nil { scope.contradiction("whenMuted", "a mandatory type is never muted") }
        return stated ?? .record
    }

    private func isGathered(_ priority: Priority, hasDigest: Bool) -> Bool {
        let stated = scope.flag("digest")
        if stated == true, !hasDigest {
            scope.contradiction("digest", "the app has no digest; describe one beside types")
        }
        if stated == true, priority == .high { scope.contradiction("digest", "what has high priority cannot wait") }
        return hasDigest && (stated ?? (priority == .low))
    }

    private func android() -> AndroidOptions {
        guard let scope = scope.scope("android") else { return .none }
        scope.expectKeys(CatalogKeys.android)
        return AndroidOptions(
            channel: scope.line("channel"),
            visibility: scope.word("visibility", as: AndroidOptions.Visibility.self),
            importance: scope.word("importance", as: AndroidOptions.Importance.self),
            sound: scope.line("sound")
        )
    }

    private func apple() -> AppleOptions {
        guard let scope = scope.scope("apns") else { return .none }
        scope.expectKeys(CatalogKeys.apple)
        return AppleOptions(
            sound: scope.line("sound"),
            category: scope.line("category"),
            thread: scope.line("thread"),
            interruptionLevel: scope.word("interruptionLevel", as: AppleOptions.InterruptionLevel.self),
            isMutable: scope.flag("mutableContent") ?? false
        )
    }
}
