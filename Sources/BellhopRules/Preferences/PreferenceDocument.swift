/// A preference document in its canonical form: every key of the app's schema, no other keys, and only valid values.
///
/// `emailToggles` and `pausedUntil` are present only if the user has set them. The document of a user without one also
/// has `emailToggles` for types that are mailed and not pushed by default.
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
    /// The user's choices for e-mail that may differ from `toggles`, in the app's order.
    public let emailToggles: [Toggle]
    /// The quiet hours.
    public let quietHours: QuietHours
    /// The end of the user's pause; `nil` for none.
    public let pausedUntil: Timestamp?
    /// Whether there was a document that was not canonical; the order of its keys does not matter.
    public let wasRepaired: Bool

    /// The longest pause: 30 days.
    public static let longestPause = Duration.seconds(30 * 86_400)

    /// Normalises a document; `nil` is a user without one, which does not count as a repair.
    ///
    /// With the present instant, a pause that has ended is omitted, and a longer one than ``longestPause`` is
    /// shortened. Without it, a pause is kept as it is.
    public init(normalizing document: JSONValue?, schema: PreferenceSchema, now: Timestamp? = nil) {
        let said = Preferences(document?.object ?? JSONObject())
        enabled = said.enabled
        toggles = schema.toggles.map { Toggle(type: $0.type, isOn: said.wants($0.type) ?? $0.isOnByDefault) }
        emailToggles = schema.toggles.compactMap { toggle in
            let choice = document == nil ? toggle.emailDefault : said.emailChoice(toggle.type)
            return choice.map { Toggle(type: toggle.type, isOn: $0) }
        }
        quietHours = said.quietHours(otherwise: schema.quietHours)
        let end = said.pausedUntil.map { now?.limiting(pauseUntil: $0) ?? $0 }
        let canonical = Self.json(enabled, toggles, emailToggles, quietHours, end)
        pausedUntil = end.flatMap { end in now.map { $0 < end } ?? true ? end : nil }
        wasRepaired = document.map { Self.plain($0, said) != .object(canonical) } ?? false
    }

    /// The canonical form: `enabled`, `eventToggles` in the app's order, `quietHours`, and the two members that may be
    /// absent: `emailToggles`, `pausedUntil`.
    public var json: JSONObject { Self.json(enabled, toggles, emailToggles, quietHours, pausedUntil) }

    /// Returns the canonical form as an update of a stored document.
    ///
    /// Of the two members that may be absent, one that `document` omits stays absent, so that the stored one is kept,
    /// and one that it removes is null.
    func update(by document: JSONObject) -> JSONObject {
        var update = json
        let isPauseRemoved = document["pausedUntil"] == .null || Preferences(document).pausedUntil != nil
        if pausedUntil == nil, isPauseRemoved { update["pausedUntil"] = .null }
        let mails = document["emailToggles"]
        if emailToggles.isEmpty, mails == .null || mails?.object != nil { update["emailToggles"] = .null }
        return update
    }

    private static func json(
        _ enabled: Bool,
        _ toggles: [Toggle],
        _ emailToggles: [Toggle],
        _ quietHours: QuietHours,
        _ pausedUntil: Timestamp?
    ) -> JSONObject {
        var json: JSONObject = [
            "enabled": .bool(enabled),
            "eventToggles": object(toggles),
            "quietHours": [
                "enabled": .bool(quietHours.enabled),
                "startHour": .number(JSONNumber(Int64(quietHours.startHour))),
                "endHour": .number(JSONNumber(Int64(quietHours.endHour))),
            ],
        ]
        if !emailToggles.isEmpty { json["emailToggles"] = object(emailToggles) }
        if let pausedUntil { json["pausedUntil"] = .string(pausedUntil.inMilliseconds) }
        return json
    }

    private static func object(_ toggles: [Toggle]) -> JSONValue {
        .object(JSONObject(toggles.map { ($0.type.text, .bool($0.isOn)) }))
    }

    /// Returns a document without the variants that are not repairs: another notation of an instant, and the removal of
    /// a member that may be absent.
    private static func plain(_ document: JSONValue, _ said: Preferences) -> JSONValue {
        guard var members = document.object else { return document }
        let (pause, mails) = (members["pausedUntil"], members["emailToggles"])
        guard pause != nil || mails != nil else { return document }
        if let end = said.pausedUntil { members["pausedUntil"] = .string(end.inMilliseconds) }
        if pause == .null { members["pausedUntil"] = nil }
        if mails == .null || mails?.object?.isEmpty == true { members["emailToggles"] = nil }
        return .object(members)
    }
}

extension Timestamp {
    /// Returns the end of a pause that begins now, at most ``PreferenceDocument/longestPause`` later.
    fileprivate func limiting(pauseUntil end: Timestamp) -> Timestamp {
        let longest = PreferenceDocument.longestPause.components.seconds * 1_000_000
        return min(end, Timestamp(clamping: microseconds + longest))
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
        /// Whether users without a preference get the type by e-mail.
        public let isMailedByDefault: Bool

        /// Creates a toggle from a type and its defaults.
        public init(_ type: EventType, isOnByDefault: Bool = true, isMailedByDefault: Bool = false) {
            self.type = type
            self.isOnByDefault = isOnByDefault
            self.isMailedByDefault = isMailedByDefault
        }

        /// The choice for e-mail that states the default, if `isOnByDefault` alone would turn the mails off.
        fileprivate var emailDefault: Bool? { isMailedByDefault && !isOnByDefault ? true : nil }
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
