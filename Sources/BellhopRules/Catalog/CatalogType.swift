/// A catalogue's entry for one event type.
///
/// It is a class because every notification and every push reads it and no code changes it.
public final class CatalogType: Sendable {
    /// The handling of a notification that its user has muted.
    public enum WhenMuted: String, CaseIterable, Hashable, Sendable {
        /// The notification is only in the app.
        case record
        /// The notification is discarded.
        case drop
    }

    /// The type.
    public let type: EventType
    /// The priority, which selects the lane.
    public let priority: Priority
    /// The name on a settings page, by language; always includes the app's own language.
    public let labels: [LanguageTag: String]
    /// The name of the icon; `nil` for none.
    public let icon: String?
    /// The icon's colour, `#RRGGBB`.
    public let color: String?
    /// The colour behind the icon, `#RRGGBB`.
    public let background: String?
    /// Whether the user's preferences about types are ignored.
    ///
    /// Neither the master toggle nor the type's own toggle nor a muted topic silences a mandatory type, and a settings
    /// page does not list it.
    ///
    /// The system's permission on each device, the switch for all devices (`pushEnabled`), the type's policy for quiet
    /// hours, and expiry still apply.
    public let isMandatory: Bool
    /// Whether devices are used for a user without a preference about this type.
    public let pushByDefault: Bool
    /// Whether e-mail is used for a user without a preference about this type.
    public let emailByDefault: Bool
    /// The handling if the user, or the default, has muted the type.
    public let whenMuted: WhenMuted
    /// The roles of the topic's followers that receive it; `nil` for all followers.
    public let roles: Set<FollowRole>?
    /// The audience of an event that names none; `nil` if each event must name one.
    public let audience: DefaultAudience?
    /// The handling of several notifications within a short time; `nil` if each is sent individually.
    public let burst: BurstPolicy?
    /// The period in which a push is useful; `nil` for no limit.
    public let lifetime: Lifetime?
    /// The policy for quiet hours, by platform.
    public let quietHours: QuietHoursPolicies
    /// Whether notifications are gathered into the app's digest and not pushed individually.
    public let isGathered: Bool
    /// The number of attempts after which a delivery is given up; `nil` for the installation's limit.
    public let retryLimit: Int?
    /// Whether a notification makes a sound; the sound's name is in `android` and `apple`.
    public let hasSound: Bool
    /// The urgency on the device if it differs from the priority in the queues.
    public let deviceUrgency: Priority?
    /// The fields that clients find in the push, with their names.
    public let clientNames: ClientNames
    /// The platforms on which the push sets the badge of the app's icon; empty if the badge does not count the type.
    public let badgePlatforms: Set<DevicePlatform>
    /// The options for Android.
    public let android: AndroidOptions
    /// The options for Apple's systems.
    public let apple: AppleOptions
    /// The target of a tap; `nil` if the app's own link is used.
    public let link: LinkTemplate?
    /// The filters of a list that show the type.
    public let tags: [TypeTag]
    /// The buttons of a notification in a list.
    let actions: [ActionTemplate]
    let words: LanguageSet

    init(_ outline: Builder) {
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
        badgePlatforms = outline.badgePlatforms
        android = outline.android
        apple = outline.apple
        link = outline.link
        tags = outline.tags
        actions = outline.actions
        words = outline.words
    }

    /// The values from which a type is created.
    struct Builder {
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
        let audience: DefaultAudience?
        let burst: BurstPolicy?
        let lifetime: Lifetime?
        let quietHours: QuietHoursPolicies
        let isGathered: Bool
        let retryLimit: Int?
        let hasSound: Bool
        let deviceUrgency: Priority?
        let clientNames: ClientNames
        let badgePlatforms: Set<DevicePlatform>
        let android: AndroidOptions
        let apple: AppleOptions
        let link: LinkTemplate?
        let tags: [TypeTag]
        let actions: [ActionTemplate]
        let words: LanguageSet
    }

    /// Whether the badge of the app's icon counts notifications of the type.
    public var setsBadge: Bool { !badgePlatforms.isEmpty }

    /// Returns whether a follower in this role receives the type.
    public func reaches(_ role: FollowRole?) -> Bool {
        guard let roles else { return true }
        return role.map(roles.contains) ?? false
    }

    /// Returns the instant from which an event is no longer pushed; `nil` for no limit.
    ///
    /// The event's own value takes precedence. Otherwise, the lifetime starts at the event's delivery time, at its
    /// sending time or at its arrival, whichever of these is known first in this order.
    public func expiry(of event: Event, arrival: Timestamp) -> Timestamp? {
        event.expiresAt ?? expiry(from: event.deliverAt ?? event.sentAt ?? arrival)
    }

    /// Returns the instant until which an event of this time is pushed, unless it names another; `nil` for no limit.
    func expiry(from time: Timestamp) -> Timestamp? { lifetime?.end(from: time) }
}
