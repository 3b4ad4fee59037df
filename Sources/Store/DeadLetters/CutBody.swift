import BellhopRules

/// What is known of the body of a rejected message of which only the beginning is filed: such a message can be looked at,
/// and never goes out again.
///
/// It stands among the item's properties, where no producer can write.
package struct CutBody: Sendable, Equatable {
    /// How many there were.
    package let bytes: Int
    /// The digest of all of them, in hex.
    package let sha256: String

    package init(bytes: Int, sha256: String) {
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// The member of the properties that says so.
    package static let member = "bodyCut"

    /// Whether the body of `dead_letters d` was cut.
    static let condition = "d.properties ? '\(member)'"

    /// From an item's properties; nil where its body is whole.
    init?(properties: [UInt8]) {
        guard case .success(let json) = JSONParser(limits: .catalog).parse(properties), let cut = json[Self.member]
        else { return nil }
        self.init(
            bytes: Int(clamping: cut["bytes"]?.number?.int64 ?? 0),
            sha256: cut["sha256"]?.string ?? ""
        )
    }
}

extension DeadLetterItem.Origin {
    /// What the body was, where only its beginning is left.
    package var cutBody: CutBody? { CutBody(properties: properties) }

    /// Says that the body is whole: somebody has handed in another.
    package mutating func markWhole() {
        guard case .success(.object(var members)) = JSONParser(limits: .catalog).parse(properties),
            members[CutBody.member] != nil
        else { return }
        members[CutBody.member] = nil
        properties = JSONWriter.canonicalBytes(of: .object(members))
    }
}
