/// The preferences that an app offers its users, with the defaults.
public struct PreferenceSchema: Hashable, Sendable {
    /// An event type that can be turned on and off.
    public struct Toggle: Hashable, Sendable {
        /// The type.
        public let type: EventType
        /// Whether it is on for a user without a preference.
        public let isOnByDefault: Bool

        /// Creates a toggle from a type and its default.
        public init(_ type: EventType, isOnByDefault: Bool = true) {
            self.type = type
            self.isOnByDefault = isOnByDefault
        }
    }

    /// The types in the order of the settings page; of a type that is given twice, the first counts.
    public let toggles: [Toggle]
    /// The initial quiet hours on the settings page; usually off.
    public let quietHours: QuietHours

    /// Creates the schema of an app.
    public init(toggles: [Toggle], quietHours: QuietHours = .usual) {
        var seen: Set<EventType> = []
        self.toggles = toggles.filter { seen.insert($0.type).inserted }
        self.quietHours = quietHours
    }
}

extension QuietHours {
    /// The usual default: off, and from 22 to 7 when turned on.
    public static let usual = QuietHours(enabled: false, startHour: 22, endHour: 7)
}
