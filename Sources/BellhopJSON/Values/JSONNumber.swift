/// A number in the notation of its source.
///
/// An amount in wei keeps all of its digits, and `1e999` does not become infinity unnoticed.
public struct JSONNumber: Hashable, Sendable {
    /// The number in the grammar of RFC 8259.
    public let text: String

    /// Creates a number from text that is known to be valid.
    package init(checked text: String) { self.text = text }

    /// Creates a whole number.
    public init(_ value: Int64) { text = String(value) }

    /// The value if the text is a whole number without fraction and exponent that fits into 64 bits; `nil` otherwise.
    public var int64: Int64? { Int64(text) }

    /// The nearest double; `nil` if it is infinite.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// Whether every program in the chain can represent the number.
    ///
    /// Its magnitude must be within that of an IEEE double, and its text at most 320 characters long.
    ///
    /// PostgreSQL rejects a `jsonb` number with more than 131,072 digits, and with it the whole batch that contains the
    /// number. It also writes exponents out, so that a few bytes of `1e99999` would return as a hundred kilobytes.
    public var isPortable: Bool {
        guard text.utf8.count <= 320 else { return false }
        guard let value = double else { return false }
        return value != 0 || !hasNonZeroDigit
    }

    private var hasNonZeroDigit: Bool {
        for byte in text.utf8 {
            if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") { return false }
            if byte >= UInt8(ascii: "1") && byte <= UInt8(ascii: "9") { return true }
        }
        return false
    }
}
