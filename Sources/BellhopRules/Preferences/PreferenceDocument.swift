/// A preference document in its canonical form: every key of the app's schema, no other, every value one that holds.
///
/// Made from anything that was stored or sent, by clients of any age; `docs/client-kit.md` has the table of what
/// becomes of what. Normalising what is canonical changes nothing.
public struct PreferenceDocument: Hashable, Sendable {
    /// A type of event and what the user wants of it.
    public struct Toggle: Hashable, Sendable {
        /// The type.
        public let type: EventType
        /// Whether they want it.
        public let isOn: Bool
    }

    /// The master toggle.
    public let enabled: Bool
    /// Each of the app's types, in the app's order.
    public let toggles: [Toggle]
    /// The quiet hours.
    public let quietHours: QuietHours
    /// Whether a document was there and was not canonical; the order of its keys does not matter.
    public let wasRepaired: Bool

    /// Normalises a document; nil for a user who has none, which is not a repair.
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
    public var json: JSONObject {
        Self.json(enabled: enabled, toggles: toggles, quietHours: quietHours)
    }

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
