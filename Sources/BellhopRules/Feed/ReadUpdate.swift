/// The content of `notification.read`: a user has read notifications in an app whose inbox is outside Bellhop.
public struct ReadUpdate: Hashable, Sendable {
    /// The notifications that were read.
    public enum Selection: Hashable, Sendable {
        /// The named notifications.
        case named([NotificationID])
        /// All notifications up to an instant; up to the time of the message if there is none.
        case all(until: Timestamp?)
    }

    /// The user.
    public let user: UserID
    /// The notifications that were read.
    public let which: Selection

    /// The maximum number of ids, which equals that of a request to the inbox API.
    static let mostIDs = 100

    init(_ user: UserID, _ reader: FieldReader) throws(FieldFault) {
        self.user = user
        let ids = try reader.array("ids")
        let all = try reader.bool("all") ?? false
        switch (ids, all) {
        case (let ids?, false): which = .named(try Self.ids(ids, reader.place("ids")))
        case (nil, true): which = .all(until: try reader.timestamp("until"))
        case (nil, false): throw reader.missing("ids", "a list of ids, or all in place of it")
        case (.some, true): throw FieldFault(.invalidField, at: reader.place("all"), "expected either ids or all")
        }
    }

    private static func ids(_ values: [JSONValue], _ place: JSONPointer) throws(FieldFault) -> [NotificationID] {
        guard (1...mostIDs).contains(values.count) else {
            throw FieldFault(.invalidField, at: place, "expected 1 to \(mostIDs) ids")
        }
        var ids: [NotificationID] = []
        for (index, value) in values.enumerated() {
            guard let id = value.string.flatMap(NotificationID.init(validating:)) else {
                throw FieldFault(at: place.index(index), expected: "noti_ and 16 hexadecimal digits", found: value)
            }
            ids.append(id)
        }
        return ids
    }
}
