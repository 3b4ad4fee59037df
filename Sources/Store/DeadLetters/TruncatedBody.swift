import BellhopRules

/// The size and digest of a rejected message's original body, if only the beginning of the body is stored.
///
/// Such a message can be read, and can never be replayed.
///
/// The data is part of the item's properties, to which no producer can write.
package struct TruncatedBody: Sendable, Equatable {
    /// The size of the original body in bytes.
    package let bytes: Int
    /// The SHA-256 digest of the original body, in hex.
    package let sha256: String

    package init(bytes: Int, sha256: String) {
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// The member of the properties that contains the data.
    package static let member = "bodyCut"

    /// The condition that the body of `dead_letters d` was cut.
    static let condition = "d.properties ? '\(member)'"

    /// Reads the data from an item's properties; `nil` if the body is complete.
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
    /// The original body's size and digest, if only its beginning is stored.
    package var cutBody: TruncatedBody? { TruncatedBody(properties: properties) }

    /// Marks the body as complete, after an operator has supplied another.
    package mutating func markWhole() {
        guard case .success(.object(var members)) = JSONParser(limits: .catalog).parse(properties),
            members[TruncatedBody.member] != nil
        else { return }
        members[TruncatedBody.member] = nil
        properties = JSONWriter.canonicalBytes(of: .object(members))
    }
}
