/// What a catalogue says of one type of event.
///
/// An object, since every notification and every push is made by it and none changes it.
public final class CatalogType: Sendable {
    /// What becomes of a notification that its user has muted.
    public enum WhenMuted: String, CaseIterable, Hashable, Sendable {
        /// It is in the app, and nowhere else.
        case record
        /// It is nowhere.
        case drop
    }

    /// The type.
    public let type: EventType
    /// How much it matters.
    public let priority: Priority
    /// Its name on a settings page, per language; the app's own language is always there.
    public let labels: [LanguageTag: String]
    /// The name of its icon, nil for none.
    public let icon: String?
    /// The icon's colour, `#RRGGBB`.
    public let color: String?
    /// The colour behind the icon, `#RRGGBB`.
    public let background: String?
    /// Whether the user's word on types does not count: neither the master toggle nor the type's own nor a muted topic
    /// silences it, and a settings page does not list it.
    ///
    /// What holds all the same: the system's permission on each device, the switch for all devices (`pushEnabled`),
    /// quiet hours by their policy, and expiry.
    public let isMandatory: Bool
    /// Whether devices are used for a user who has not said anything about this type.
    public let pushByDefault: Bool
    /// Whether e-mail is used for a user who has not said anything about this type.
    public let emailByDefault: Bool
    /// What becomes of it where the user, or the default, has muted it.
    public let whenMuted: WhenMuted
    /// Of a topic's followers, only those in one of these roles hear of it; nil for all of them.
    public let roles: Set<FollowRole>?
    /// Who hears of it where an event does not say; nil where each has to.
    public let audience: Audience?
    /// What becomes of several of them within a short time; nil where each goes out by itself.
    public let burst: BurstPolicy?
    /// How long it is worth pushing; nil for ever.
    public let lifetime: Lifetime?
    /// What quiet hours do to it, for each kind of device.
    public let quietHours: QuietHoursPolicies
    /// Whether it is gathered into the app's digest instead of being pushed by itself.
    public let isGathered: Bool
    /// After how many attempts a delivery is given up; nil for the installation's own limit.
    public let retryLimit: Int?
    /// Whether it makes a sound; which one is in `android` and `apple`.
    public let hasSound: Bool
    /// How urgently a device is to take it, where that is another matter than how soon it is served.
    public let deviceUrgency: Priority?
    /// What clients find in its push.
    public let clientNames: ClientNames
    /// Whether its push sets the number on the app's icon.
    public let setsBadge: Bool
    /// What Android is told.
    public let android: AndroidOptions
    /// What Apple's systems are told.
    public let apple: AppleOptions
    /// Where a tap leads; nil where the app's own link holds.
    public let link: LinkTemplate?
    let words: LanguageSet

    init(_ outline: Outline) {
        type = outline.type
        priority = outline.priority
        labels = outline.labels
        icon = outline.icon
        color = outline.color
        background = outline.background
        isMandatory = outline.isMandatory
        pushByDefault = outline.pushByDefault
        emailByDefault = outline.emailByDefault
        whenMuted = outline.whenMuted
        roles = outline.roles
        audience = outline.audience
        burst = outline.burst
        lifetime = outline.lifetime
        quietHours = outline.quietHours
        isGathered = outline.isGathered
        retryLimit = outline.retryLimit
        hasSound = outline.hasSound
        deviceUrgency = outline.deviceUrgency
        clientNames = outline.clientNames
        setsBadge = outline.setsBadge
        android = outline.android
        apple = outline.apple
        link = outline.link
        words = outline.words
    }

    /// A type as it is put together.
    struct Outline {
        let type: EventType
        let priority: Priority
        let labels: [LanguageTag: String]
        let icon: String?
        let color: String?
        let background: String?
        let isMandatory: Bool
        let pushByDefault: Bool
        let emailByDefault: Bool
        let whenMuted: WhenMuted
        let roles: Set<FollowRole>?
        let audience: Audience?
        let burst: BurstPolicy?
        let lifetime: Lifetime?
        let quietHours: QuietHoursPolicies
        let isGathered: Bool
        let retryLimit: Int?
        let hasSound: Bool
        let deviceUrgency: Priority?
        let clientNames: ClientNames
        let setsBadge: Bool
        let android: AndroidOptions
        let apple: AppleOptions
        let link: LinkTemplate?
        let words: LanguageSet
    }

    /// Whether a follower in this role hears of it.
    public func reaches(_ role: FollowRole?) -> Bool {
        guard let roles else { return true }
        return role.map(roles.contains) ?? false
    }

    /// The instant from which an event is not pushed any more; nil for never.
    ///
    /// The event's own word wins. Else the lifetime counts from when it was to be delivered, was sent, or arrived, the
    /// first of these that is known.
    public func expiry(of event: Event, arrival: Timestamp) -> Timestamp? {
        event.expiresAt ?? lifetime?.end(from: event.deliverAt ?? event.sentAt ?? arrival)
    }
}
