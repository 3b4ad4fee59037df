/// The few forms of ASN.1's distinguished encoding (X.690) that keys use.
enum DER {
    static let null: [UInt8] = [0x05, 0x00]

    /// The content of the identifier 1.2.840.10045.3.1.7, the curve P-256.
    static let prime256v1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

    static func sequence(_ content: [UInt8]) -> [UInt8] { value(0x30, content) }

    /// Returns an object identifier; `content` is already encoded.
    static func objectIdentifier(_ content: [UInt8]) -> [UInt8] { value(0x06, content) }

    /// Returns a bit string of whole bytes.
    static func bitString(_ content: [UInt8]) -> [UInt8] { value(0x03, [0] + content) }

    static func octetString(_ content: [UInt8]) -> [UInt8] { value(0x04, content) }

    /// Returns `content`, already encoded, under the context-specific tag with this number (below 31).
    static func tagged(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        value(0xA0 | number & 0x1F, content)
    }

    /// Returns a big-endian number that is never negative, even if its first bit is set.
    static func unsignedInteger(_ number: [UInt8]) -> [UInt8] {
        let digits = Array(number.drop { $0 == 0 })
        guard let first = digits.first else { return value(0x02, [0]) }
        return value(0x02, first < 0x80 ? digits : [0] + digits)
    }

    private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    /// Returns the length: below 128 the number itself, otherwise the number of its bytes with the top bit set,
    /// followed by these bytes.
    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 128 else { return [UInt8(truncatingIfNeeded: count)] }
        let digits = withUnsafeBytes(of: UInt64(count).bigEndian) { Array($0.drop { $0 == 0 }) }
        return [0x80 | UInt8(truncatingIfNeeded: digits.count)] + digits
    }
}
