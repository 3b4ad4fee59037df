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
    package func field(named name: UnsafeBufferPointer<UInt8>) -> ClientField? {
        guard let chosen else { return Self.usualField(named: name) }
        return chosen.first { $0.value.withBytes { $0.hasSameBytes(as: name) } }?.key
    }

    private static func usualField(named name: UnsafeBufferPointer<UInt8>) -> ClientField? {
        guard name.count < 64, usualLengths & 1 << name.count != 0 else { return nil }
        for index in usualNames.indices
        where usualNames[index].name.withUnsafeBufferPointer({ $0.hasSameBytes(as: name) }) {
            return usualNames[index].field
        }
        return nil
    }

    /// The lists are created once, because every member of every push is looked up in them.
    private static let usualNames = ClientField.allCases.map { (name: Array($0.rawValue.utf8), field: $0) }
    /// A bit for each length of a usual name.
    private static let usualLengths = usualNames.reduce(UInt64(0)) { $0 | 1 << $1.name.count }

    /// Returns whether FCM or APNs reserve a name, so that an app cannot receive a field under it.
    public static func isReserved(_ name: String) -> Bool { name.withBytes(isReserved) }

    package static func isReserved(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        func isName(_ word: StaticString) -> Bool {
            name.hasSameBytes(as: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        }
        return switch name.first {
        case UInt8(ascii: "a"): isName("aps")
        case UInt8(ascii: "c"): isName("collapse_key")
        case UInt8(ascii: "f"): isName("from") || isName("fcm_options")
        case UInt8(ascii: "g"): name.starts(with: "gcm".utf8) || name.starts(with: "google".utf8)
        case UInt8(ascii: "m"): isName("message_type")
        default: false
        }
    }
}
