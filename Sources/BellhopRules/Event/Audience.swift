/// The users in the audience of an event.
public enum Audience: Hashable, Sendable {
    /// Named users, each once, in the order of the message; 1 to 1,000.
    case users([UserID])
    /// The followers of the topic.
    case topic(Topic)
    /// Every user of the app.
    case everyone

    /// The topic of the audience; `nil` for named users and for everyone.
    public var topic: Topic? {
        if case .topic(let topic) = self { topic } else { nil }
    }
}

extension Audience {
    /// The keys of `to`; a message contains exactly one.
    enum Key: String, CaseIterable {
        case user, users, topic, everyone
    }

    /// Reads the value of `to`; `usual` is the audience of an event without one.
    init(_ reader: FieldReader, otherwise usual: Audience?) throws(FieldFault) {
        let place = reader.place(EventField.to.rawValue)
        guard let value = reader[EventField.to.rawValue] else {
            if let usual {
                self = usual
                return
            }
            throw FieldFault(.missingAudience, at: place, "an event needs an audience in \"to\"")
        }
        guard case .object(let object) = value else { throw FieldFault(at: place, expected: "an object", found: value) }
        let to = FieldReader(object, at: place)
        var present: Key?
        for key in Key.allCases where to[key.rawValue] != nil {
            guard present == nil else {
                throw FieldFault(.invalidField, at: place, "user, users, topic and everyone exclude one another")
            }
            present = key
        }
        guard let key = present else {
            throw FieldFault(.missingAudience, at: place, "expected one of user, users, topic or everyone")
        }
        switch key {
        case .user: self = .users([try to.required(key.rawValue)])
        case .users: self = .users(try Self.users(to))
        case .topic: self = .topic(try to.required(key.rawValue))
        case .everyone:
            guard to[key.rawValue] == .bool(true) else {
                throw FieldFault(.invalidField, at: to.place(key.rawValue), "expected true")
            }
            self = .everyone
        }
    }

    private static func users(_ to: FieldReader) throws(FieldFault) -> [UserID] {
        let elements = try to.array(Key.users.rawValue) ?? []
        let place = to.place(Key.users.rawValue)
        guard !elements.isEmpty else { throw FieldFault(.missingAudience, at: place, "the list of users is empty") }
        guard elements.count <= FieldLimits.users else {
            throw FieldFault(
                .invalidField,
                at: place,
                "\(elements.count) users; at most \(FieldLimits.users) can be named, use a topic for more"
            )
        }
        var users: [UserID] = []
        users.reserveCapacity(elements.count)
        var seen: Set<UserID> = []
        for (index, element) in elements.enumerated() {
            guard case .string(let text) = element, let user = UserID(validating: text) else {
                throw FieldFault(at: place.index(index), expected: "a user id of \(UserID.rule)", found: element)
            }
            if seen.insert(user).inserted { users.append(user) }
        }
        return users
    }
}
