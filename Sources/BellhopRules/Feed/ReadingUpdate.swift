/// What `notification.read` says: a user has read some, in an app that keeps its inbox elsewhere.
public struct ReadingUpdate: Hashable, Sendable {
    /// What was read.
    public enum Which: Hashable, Sendable {
        /// These.
        case named([NotificationID])
        /// All that came until an instant; until it was said where none is given.
        case all(until: Timestamp?)
    }

    /// Who has read.
    public let user: UserID
    /// What.
    public let which: Which

    /// As many as the inbox API takes at once.
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
