/// The allowed keys of a catalogue file, by object; `docs/catalog.schema.json` defines the same for editors.
enum CatalogKeys {
    static let app = [
        "app", "language", "timezone", "providers", "aliases", "phrases", "link", "routes", "topics", "preferences",
        "quietHours", "digest", "cap", "reminders", "idFromContent", "clientData", "badgePlatforms", "android", "apns",
        "clientsMaySetEmail", "types",
    ]
    static let reminders = ["type"]
    static let type = [
        "priority", "label", "icon", "color", "background", "mandatory", "defaults", "whenMuted", "roles",
        "audience", "expiresAfter", "quietHours", "digest", "burst", "retryLimit", "sound", "deviceUrgency", "badge",
        "android", "apns",
        "templates", "link",
    ]
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
