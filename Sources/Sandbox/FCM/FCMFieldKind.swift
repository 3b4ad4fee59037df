/// What a field of a message may hold, in the JSON form of protocol buffers.
indirect enum FCMFieldKind: Sendable {
    case text
    case flag
    case whole
    case number
    /// A string such as `3600s` or `1.5s`.
    case duration
    /// A string as RFC 3339 has it.
    case timestamp
    /// One of the names; `lowerCaseToo` where the service takes them in small letters as well.
    case choice(type: String, Set<String>, lowerCaseToo: Bool)
    /// An object of strings.
    case texts
    case list(FCMFieldKind)
    case message(FCMMessageType)
    /// Any object.
    case object
}

/// The fields of one kind of message; a name that is not among them is refused.
struct FCMMessageType: Sendable {
    private let fields: [String: FCMFieldKind]

    init(_ fields: [String: FCMFieldKind]) {
        self.fields = fields
    }

    /// The field of a name as it is documented, `collapse_key`, or as JSON also has it, `collapseKey`.
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
