/// What a client finds of a notification beside its words, by its usual name, in the order in which it is written.
public enum ClientField: String, CaseIterable, Hashable, Sendable {
    /// The notification's identifier, the same for every repeat.
    case notificationId
    /// The type; `digest` for what was gathered.
    case type
    /// The type once more, as some clients call it.
    case eventType
    /// Where a tap leads on this kind of device.
    case route
    /// What it is about, such as a transaction.
    case targetId
    /// The venue it comes from.
    case venueId
    /// The venue once more, as some clients call it.
    case venueUnderscored = "venue_id"
    /// What the event brought as such.
    case metadata
    /// When its source said it.
    case sentAtIso
    /// The number of what is unread.
    case badge
    /// Whether it stands for several.
    case digest
    /// For how many it stands.
    case count
    /// Where a click leads in a browser.
    case link
    /// The app's own URL for where a tap leads.
    case scheme
    /// What the event brought as such, each member by its own name.
    case data
}

/// What an app's clients want to find in a push, and under which names.
public struct ClientNames: Hashable, Sendable {
    /// Nil for everything, each by its usual name.
    private let chosen: [ClientField: String]?

    /// Everything, each by its usual name.
    public static let usual = ClientNames(chosen: nil)

    init(chosen: [ClientField: String]?) {
        self.chosen = chosen
    }

    /// Whether each that a client wants has its usual name.
    public var areUsual: Bool { chosen == nil }

    /// Under which name it is written; nil for what the clients do not want.
    public func name(of field: ClientField) -> String? {
        guard let chosen else { return field.rawValue }
        return chosen[field]
    }

    /// What is written under a name; nil for nothing.
    public func field(named name: String) -> ClientField? {
        guard let chosen else { return Self.usualNames.first { $0.name.hasSameBytes(as: name) }?.field }
        return chosen.first { $0.value == name }?.key
    }

    /// Made once: each member of every push is looked for among them.
    private static let usualNames = ClientField.allCases.map { (name: $0.rawValue, field: $0) }

    /// Whether a name is kept by FCM or APNs for themselves, so that no app finds anything of ours under it.
    public static func isReserved(_ name: String) -> Bool {
        switch name.utf8.first {
        case UInt8(ascii: "a"): name == "aps"
        case UInt8(ascii: "c"): name == "collapse_key"
        case UInt8(ascii: "f"): name == "from" || name == "fcm_options"
        case UInt8(ascii: "g"): name.utf8.starts(with: "gcm".utf8) || name.utf8.starts(with: "google".utf8)
        case UInt8(ascii: "m"): name == "message_type"
        default: false
        }
    }
}
