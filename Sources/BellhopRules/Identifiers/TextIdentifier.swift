/// An identifier that keeps its rule from the moment it exists.
///
/// Equality and hashing go by UTF-8 bytes, as in the database: two spellings of one accented letter are two users.
public protocol TextIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The identifier as it is written.
    var text: String { get }
    /// What an identifier of this kind looks like, for messages: `expected <rule>`.
    static var rule: String { get }
    /// Takes a text that keeps the rule, nil otherwise.
    init?(validating text: String)
}

extension TextIdentifier {
    /// Equality of bytes.
    public static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Order of bytes.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// The identifier as it is written.
    public var description: String { text }
}
