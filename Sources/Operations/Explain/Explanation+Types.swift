import BellhopRules

/// The user's choices of types, in words.
extension Explanation {
    /// The choice for the type of the notification; without a notification, the choices for all types.
    package var typeChoice: String {
        guard let preferences = story.settings.recipient.preferences, preferences.enabled,
            let type = story.record?.notification.content.type
        else { return typeChoices }
        guard let isWanted = preferences.wants(type) else { return "\(type) not set (app default)" }
        let isMailed = preferences.wantsByEmail(type) ?? isWanted
        return "\(type) \(isWanted ? "on" : "off")"
            + (isMailed == isWanted ? "" : ", by e-mail \(isMailed ? "on" : "off")")
    }

    /// The types that the user has switched off, or `all muted`.
    var typeChoices: String {
        guard let preferences = story.settings.recipient.preferences else { return "not set (app defaults)" }
        guard preferences.enabled else { return "all muted" }
        let types = preferences.typesSwitchedOff
        let named = types.prefix(8)
        guard !named.isEmpty else { return "none switched off" }
        return "off: \(named.joined(separator: ", "))" + (types.count > named.count ? ", and others" : "")
    }
}
