/// What an app lets its users say about notifications, and what holds where they say nothing.
public struct PreferenceSchema: Hashable, Sendable {
    /// A type of event that can be turned on and off.
    public struct Toggle: Hashable, Sendable {
        /// The type.
        public let type: EventType
        /// Whether it is on for a user who has not said anything.
        public let isOnByDefault: Bool

        /// A type with its default.
        public init(_ type: EventType, isOnByDefault: Bool = true) {
            self.type = type
            self.isOnByDefault = isOnByDefault
        }
    }

    /// The types in the order of the settings page; of a type that is given twice, the first counts.
    public let toggles: [Toggle]
    /// What the settings page shows first; as a rule off.
    public let quietHours: QuietHours

    /// The settings of an app.
    public init(toggles: [Toggle], quietHours: QuietHours = .usual) {
        var seen: Set<EventType> = []
        self.toggles = toggles.filter { seen.insert($0.type).inserted }
        self.quietHours = quietHours
    }
}

extension QuietHours {
    /// Off; from 22 to 7 once they are turned on.
    public static let usual = QuietHours(enabled: false, startHour: 22, endHour: 7)
}
