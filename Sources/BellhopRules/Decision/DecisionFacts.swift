/// All facts that a decision depends on.
public struct DecisionFacts {
    /// The app.
    public var catalog: Catalog
    /// The type of the event.
    public var type: CatalogType
    /// The instant of expiry; `nil` for none.
    public var expiresAt: Timestamp?
    /// Whether the event must never be sent by e-mail.
    public var isNeverMailed = false
    /// The user's follow of the event's topic; `nil` if the event named its users or everyone.
    public var follow: Follow?
    /// The known data of the user.
    public var recipient: Recipient
    /// The changes to the notification since it was recorded.
    public var history: History
    /// The present instant.
    public var now: Timestamp
    /// Returns the zone of a name; `nil` if the tz database does not have it.
    public var zone: (TimeZoneName) -> Zone?

    /// Creates the facts of a new notification.
    public init(
        catalog: Catalog,
        type: CatalogType,
        recipient: Recipient,
        now: Timestamp,
        zone: @escaping (TimeZoneName) -> Zone?
    ) {
        self.catalog = catalog
        self.type = type
        self.recipient = recipient
        self.now = now
        self.zone = zone
        history = History()
    }

    /// A user's follow of a topic.
    public struct Follow: Hashable, Sendable {
        /// The role of the follower; `nil` for a plain follower.
        public var role: FollowRole?
        /// Whether the user has silenced this topic.
        public var isMuted: Bool
        /// The subscriptions of the devices that follow; `nil` if all devices do.
        public var devices: Set<String>?
        /// Whether the user has since stopped following the topic with all devices.
        public var hasEnded = false

        /// Creates a follow.
        public init(role: FollowRole? = nil, isMuted: Bool = false, devices: Set<String>? = nil) {
            self.role = role
            self.isMuted = isMuted
            self.devices = devices
        }

        /// A follow that has ended.
        public static let ended: Follow = {
            var follow = Follow()
            follow.hasEnded = true
            return follow
        }()
    }

    /// The changes to a notification since it was recorded; empty for a new one.
    public struct History: Hashable, Sendable {
        /// Whether the user has read it in the app.
        public var isRead = false
        /// Whether a later one with the same collapse key has replaced it.
        public var isSuperseded = false
        /// The digest for which it was gathered.
        ///
        /// If that digest is due, it is not gathered for another one.
        public var digest: Timestamp?
        /// The user's recent pushes; empty if no policy of the catalogue uses them.
        public var recent = RecentPushes()

        /// Creates an empty history.
        public init() {}
    }

    /// The recent pushes to the devices of a user.
    public struct RecentPushes: Hashable, Sendable {
        /// The time of the latest push with the same key, sent or planned.
        public var latest: Timestamp?
        /// The number of individual low-priority pushes within the last hour.
        public var lowPriority: Int

        /// Creates the record; by default without pushes.
        public init(latest: Timestamp? = nil, lowPriority: Int = 0) {
            self.latest = latest
            self.lowPriority = lowPriority
        }
    }

    /// Returns the user's zone, or else the app's; `nil` if the tz database has neither.
    public func clock() -> Zone? { recipient.timezone.flatMap(zone) ?? zone(catalog.timezone) }
}
