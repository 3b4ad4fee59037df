/// A preference document in its canonical form: every key of the app's schema, no other keys, and only valid values.
///
/// It is created from any stored or sent document, by clients of any version. `docs/client-kit.md` has the table of
/// conversions. Normalising a canonical document changes nothing.
public struct PreferenceDocument: Hashable, Sendable {
    /// An event type with the user's choice.
    public struct Toggle: Hashable, Sendable {
        /// The type.
        public let type: EventType
        /// Whether the user wants notifications of the type.
        public let isOn: Bool
    }

    /// The master toggle.
    public let enabled: Bool
    /// The app's types in the app's order.
    public let toggles: [Toggle]
    /// The quiet hours.
    public let quietHours: QuietHours
    /// Whether there was a document that was not canonical; the order of its keys does not matter.
    public let wasRepaired: Bool

    /// Normalises a document; `nil` is a user without one, which does not count as a repair.
    public init(normalizing document: JSONValue?, schema: PreferenceSchema) {
        let said = Preferences(document?.object ?? JSONObject())
        let toggles = schema.toggles.map { Toggle(type: $0.type, isOn: said.wants($0.type) ?? $0.isOnByDefault) }
        let quietHours = said.quietHours(otherwise: schema.quietHours)
        let canonical = Self.json(enabled: said.enabled, toggles: toggles, quietHours: quietHours)
        enabled = said.enabled
        self.toggles = toggles
        self.quietHours = quietHours
        wasRepaired = document.map { $0 != .object(canonical) } ?? false
    }

    /// The canonical form: `enabled`, `eventToggles` in the app's order, `quietHours`.
    public var json: JSONObject { Self.json(enabled: enabled, toggles: toggles, quietHours: quietHours) }

    private static func json(enabled: Bool, toggles: [Toggle], quietHours: QuietHours) -> JSONObject {
        [
            "enabled": .bool(enabled),
            "eventToggles": .object(JSONObject(toggles.map { ($0.type.text, .bool($0.isOn)) })),
            "quietHours": [
                "enabled": .bool(quietHours.enabled),
                "startHour": .number(JSONNumber(Int64(quietHours.startHour))),
                "endHour": .number(JSONNumber(Int64(quietHours.endHour))),
            ],
        ]
    }
}

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

/// The settings page's texts in addition to the labels of the types, and the defaults.
public struct SettingsPage: Hashable, Sendable {
    /// The label of the master switch, by language; empty if the catalogue leaves the text to the app.
    public let masterLabels: [LanguageTag: String]
    /// The label of the switch for quiet hours, by language; empty if the catalogue leaves the text to the app.
    public let quietHoursLabels: [LanguageTag: String]
    /// The explanation of quiet hours, by language; empty if the catalogue leaves the text to the app.
    public let quietHoursHelpers: [LanguageTag: String]
    /// The quiet hours of a user who has set none.
    public let quietHours: QuietHours
}
