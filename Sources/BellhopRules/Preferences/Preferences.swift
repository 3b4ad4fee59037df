/// What a user said about notifications, read from the stored document as far as somebody asks.
///
/// For the way of each event: nothing is copied or normalised before it is needed. What it answers is what
/// `PreferenceDocument` says of the same document, since that one asks here.
public struct Preferences: Hashable, Sendable {
    /// The master toggle; on, unless the document says `false`.
    public let enabled: Bool
    private let toggles: JSONObject
    private let quietHours: JSONObject

    /// Reads a stored document; whatever is missing or of the wrong kind counts as not said.
    public init(_ document: JSONObject) {
        enabled = document["enabled"] != .bool(false)
        toggles = document["eventToggles"]?.object ?? JSONObject()
        quietHours = document["quietHours"]?.object ?? JSONObject()
    }

    /// Whether the user wants this type; nil where they did not say.
    public func wants(_ type: EventType) -> Bool? {
        toggles[type.text]?.bool
    }

    /// The user's quiet hours, with the app's own for whatever they did not say.
    public func quietHours(otherwise usual: QuietHours) -> QuietHours {
        guard !quietHours.isEmpty else { return usual }
        return QuietHours(
            enabled: quietHours["enabled"]?.bool ?? usual.enabled,
            startHour: Self.hour(quietHours["startHour"]) ?? usual.startHour,
            endHour: Self.hour(quietHours["endHour"]) ?? usual.endHour
        )
    }

    /// An hour from 0 to 23; nil for anything but a number.
    ///
    /// A number loses its fraction and is moved to the nearer end: 7.9 is 7, -3 is 0, 24 is 23, and so is 1e400. The
    /// string "7" is not a number: whoever wrote it may have meant anything.
    private static func hour(_ value: JSONValue?) -> Int? {
        guard let number = value?.number else { return nil }
        if let whole = number.int64 { return Int(min(max(whole, 0), 23)) }
        guard let fraction = number.double else { return number.text.hasPrefix("-") ? 0 : 23 }
        return Int(min(max(fraction, 0), 23))
    }
}
