/// A validated identifier; every instance satisfies its rule.
///
/// Equality and hashing use UTF-8 bytes, as in the database: two encodings of one accented letter are two users.
public protocol TextIdentifier: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The identifier's text.
    var text: String { get }
    /// The required form of the identifier, for messages such as `expected <rule>`.
    static var rule: String { get }
    /// Creates the value from text; `nil` if the text violates the rule.
    init?(validating text: String)
}

extension TextIdentifier {
    /// Compares the bytes for equality.
    public static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Compares the bytes for order.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// The identifier's text.
    public var description: String { text }
}
