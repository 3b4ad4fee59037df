/// The fields of a push in addition to its texts, with their usual names, in the order in which they are written.
public enum ClientField: String, CaseIterable, Hashable, Sendable {
    /// The notification's identifier, the same for every repeat.
    case notificationId
    /// The type; `digest` for a digest.
    case type
    /// The type under the name that some other clients use.
    case eventType
    /// The target of a tap on this kind of device.
    case route
    /// The subject of the notification, such as a transaction.
    case targetId
    /// The venue of the event.
    case venueId
    /// The venue under the name that some other clients use.
    case venueUnderscored = "venue_id"
    /// The metadata of the event.
    case metadata
    /// The source time of the event.
    case sentAtIso
    /// The number of unread notifications.
    case badge
    /// Whether the push stands for several notifications.
    case digest
    /// The number of notifications that the push stands for.
    case count
    /// The target of a click in a browser.
    case link
    /// The target of a tap as a URL of the app's own scheme.
    case scheme
    /// The data of the event, each member under its own name.
    case data
}

/// The fields that an app's clients expect in a push, with their names.
public struct ClientNames: Hashable, Sendable {
    /// The chosen fields with their names; `nil` for all fields under their usual names.
    private let chosen: [ClientField: String]?

    /// All fields under their usual names.
    public static let usual = ClientNames(chosen: nil)

    init(chosen: [ClientField: String]?) { self.chosen = chosen }

    /// Whether all fields are written under their usual names.
    public var areUsual: Bool { chosen == nil }

    /// Returns the name under which a field is written; `nil` if the clients do not use it.
    public func name(of field: ClientField) -> String? {
        guard let chosen else { return field.rawValue }
        return chosen[field]
    }

    /// Returns the field that is written under a name; `nil` if there is none.
    public func field(named name: String) -> ClientField? {
        guard let chosen else { return Self.usualNames.first { $0.name.hasSameBytes(as: name) }?.field }
        return chosen.first { $0.value == name }?.key
    }

    /// The list is created once, because every member of every push is looked up in it.
    private static let usualNames = ClientField.allCases.map { (name: $0.rawValue, field: $0) }

    /// Returns whether FCM or APNs reserve a name, so that an app cannot receive a field under it.
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
