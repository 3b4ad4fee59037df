/// The type of a message's field, in the JSON form of protocol buffers.
indirect enum FCMFieldKind: Sendable {
    case text
    case flag
    case whole
    case number
    /// A string such as `3600s` or `1.5s`.
    case duration
    /// A string in the format of RFC 3339.
    case timestamp
    /// One of the names; `lowerCaseToo` if the service also accepts them in lower case.
    case choice(type: String, Set<String>, lowerCaseToo: Bool)
    /// An object of strings.
    case texts
    case list(FCMFieldKind)
    case message(FCMMessageType)
    /// Any object.
    case object
}

/// The fields of one kind of message; an unknown name is rejected.
struct FCMMessageType: Sendable {
    private let fields: [String: FCMFieldKind]

    init(_ fields: [String: FCMFieldKind]) {
        self.fields = fields
    }

    /// Returns the field of a name in its documented form, `collapse_key`, or in its JSON form, `collapseKey`.
    func field(_ name: String) -> (name: String, kind: FCMFieldKind)? {
        if let kind = fields[name] { return (name, kind) }
        let documented = Self.documentedName(name)
        return fields[documented].map { (documented, $0) }
    }

    private static func documentedName(_ name: String) -> String {
        var documented = ""
        for character in name {
            if character.isUppercase { documented.append("_") }
            documented.append(contentsOf: character.lowercased())
        }
        return documented
    }
}
