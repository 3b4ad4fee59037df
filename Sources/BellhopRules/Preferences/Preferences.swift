/// A user's preferences, read from the stored document on demand.
///
/// Every event uses this type, so no list of types is copied before it is needed. The answers equal those of
/// `PreferenceDocument` for the same document, because that type asks this one.
public struct Preferences: Hashable, Sendable {
    /// The master toggle; on unless the document contains `false`.
    public let enabled: Bool
    /// The end of the pause that the user has set, which may have passed; `nil` for none.
    public let pausedUntil: Timestamp?
    private let toggles: JSONObject
    private let emailToggles: JSONObject
    private let quietHours: OwnQuietHours?

    /// The parts of the quiet hours that the user has set.
    private struct OwnQuietHours: Hashable {
        let enabled: Bool?
        let startHour: Int?
        let endHour: Int?

        init(_ document: JSONObject) {
            enabled = document["enabled"]?.bool
            startHour = Preferences.hour(document["startHour"])
            endHour = Preferences.hour(document["endHour"])
        }
    }

    /// Creates the preferences from a stored document.
    ///
    /// Missing values and values of the wrong kind count as unset.
    public init(_ document: JSONObject) {
        enabled = document["enabled"] != .bool(false)
        pausedUntil = document["pausedUntil"]?.string.flatMap(Timestamp.init(validating:))
        toggles = document["eventToggles"]?.object ?? JSONObject()
        emailToggles = document["emailToggles"]?.object ?? JSONObject()
        quietHours = (document["quietHours"]?.object).map(OwnQuietHours.init)
    }

    /// Returns whether the user wants this type; `nil` if there is no preference.
    public func wants(_ type: EventType) -> Bool? { toggles[type.text]?.bool }

    /// The names of the types that the user has switched off, in alphabetical order.
    public var typesSwitchedOff: [String] { toggles.members.filter { $0.value == .bool(false) }.map(\.key).sorted() }

    /// Returns whether the user wants this type by e-mail; `nil` if there is no preference.
    ///
    /// Without a choice for e-mail, the choice for the type applies.
    public func wantsByEmail(_ type: EventType) -> Bool? { emailChoice(type) ?? wants(type) }

    /// Returns the user's choice for this type by e-mail alone; `nil` if there is none.
    func emailChoice(_ type: EventType) -> Bool? { emailToggles.isEmpty ? nil : emailToggles[type.text]?.bool }

    /// Returns the user's quiet hours, with the app's values for unset parts.
    public func quietHours(otherwise usual: QuietHours) -> QuietHours {
        guard let quietHours else { return usual }
        return QuietHours(
            enabled: quietHours.enabled ?? usual.enabled,
            startHour: quietHours.startHour ?? usual.startHour,
            endHour: quietHours.endHour ?? usual.endHour
        )
    }

    /// Returns an hour from 0 to 23; `nil` for any value except a number.
    ///
    /// A number loses its fraction and is limited to the range: 7.9 is 7, -3 is 0, and 24 and 1e400 are 23. The string
    /// "7" is not a number, because the intention of its author is unclear.
    private static func hour(_ value: JSONValue?) -> Int? {
        guard let number = value?.number else { return nil }
        if let whole = number.int64 { return Int(min(max(whole, 0), 23)) }
        guard let fraction = number.double else { return number.text.hasPrefix("-") ? 0 : 23 }
        return Int(min(max(fraction, 0), 23))
    }
}
