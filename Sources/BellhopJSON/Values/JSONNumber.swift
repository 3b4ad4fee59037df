/// A number as its source wrote it, so that an amount in wei keeps all of its digits and `1e999` does not turn into
/// infinity unnoticed.
public struct JSONNumber: Hashable, Sendable {
    /// The number in the grammar of RFC 8259.
    public let text: String

    /// Takes a text that a reader has found to be a number.
    init(checked text: String) {
        self.text = text
    }

    /// A whole number.
    public init(_ value: Int64) {
        text = String(value)
    }

    /// The value, when the text is a whole number without fraction and exponent that fits.
    public var int64: Int64? { Int64(text) }

    /// The nearest double, or nil where that would be infinite.
    public var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// Whether every reader on the way can hold the number: magnitude within that of an IEEE double, and at most
    /// 320 characters.
    ///
    /// PostgreSQL refuses a `jsonb` number with more than 131,072 digits, and with it the whole batch that contains it;
    /// and it writes exponents out, so that a few bytes of `1e99999` would come back as a hundred kilobytes.
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
