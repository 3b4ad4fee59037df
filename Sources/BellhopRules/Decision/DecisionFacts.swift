/// Everything that a decision depends on.
public struct DecisionFacts {
    /// The app.
    public var catalog: Catalog
    /// The type of the event.
    public var type: CatalogType
    /// From when on it is too late; nil for never.
    public var expiresAt: Timestamp?
    /// Whether the event says that it is never sent by e-mail.
    public var isNeverMailed = false
    /// How the user follows the topic that the event was for; nil where it named its users, or everyone.
    public var follow: Follow?
    /// What is known of the user.
    public var recipient: Recipient
    /// What has happened to the notification since it was recorded.
    public var history: History
    /// The present instant.
    public var now: Timestamp
    /// The zone of a name; nil where the tz database has none of it.
    public var zone: (TimeZoneName) -> Zone?

    /// The facts of a notification that is new.
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

    /// How a user follows a topic.
    public struct Follow: Hashable, Sendable {
        /// As what; nil for a plain follower.
        public var role: FollowRole?
        /// Whether the user has silenced this topic.
        public var isMuted: Bool
        /// The subscriptions of the devices that follow; nil where all do.
        public var devices: Set<String>?
        /// The user has left meanwhile, with all devices.
        public var hasEnded = false

        /// A follower.
        public init(role: FollowRole? = nil, isMuted: Bool = false, devices: Set<String>? = nil) {
            self.role = role
            self.isMuted = isMuted
            self.devices = devices
        }

        /// Somebody who followed, and does not any more.
        public static let ended: Follow = {
            var follow = Follow()
            follow.hasEnded = true
            return follow
        }()
    }

    /// What has happened to a notification since it was recorded; nothing, for a new one.
    public struct History: Hashable, Sendable {
        /// The user has read it in the app.
        public var isRead = false
        /// A later one with the same collapse key has taken its place.
        public var isSuperseded = false
        /// The digest that it was gathered for: once that is due it is not gathered for another one.
        public var digest: Timestamp?
        /// What the user's devices got lately; nothing, where no policy of the catalogue asks for it.
        public var recent = RecentPushes()

        /// Nothing has happened.
        public init() {}
    }

    /// What the devices of a user got lately.
    public struct RecentPushes: Hashable, Sendable {
        /// When the latest of the same key went out, or will.
        public var latest: Timestamp?
        /// How many of low priority went out by themselves within the last hour.
        public var lowPriority: Int

        /// Nothing unless told.
        public init(latest: Timestamp? = nil, lowPriority: Int = 0) {
            self.latest = latest
            self.lowPriority = lowPriority
        }
    }

    /// The clock that counts for the user: their own zone's, or else the app's; nil where the tz database has neither.
    public func clock() -> Zone? {
        recipient.timezone.flatMap(zone) ?? zone(catalog.timezone)
    }
}
