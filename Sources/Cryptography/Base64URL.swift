/// Base64 with the URL-safe alphabet (RFC 4648 §5), as used by JWT, VAPID and Web Push.
package enum Base64URL {
    /// Encodes `bytes` without padding.
    package static func encode(_ bytes: [UInt8]) -> String {
        let length = bytes.count / 3 * 4 + (bytes.count % 3 == 0 ? 0 : bytes.count % 3 + 1)
        return String(unsafeUninitializedCapacity: length) { output in
            var written = 0
            var bits: UInt32 = 0
            var bitCount: UInt32 = 0
            for byte in bytes {
                bits = bits << 8 | UInt32(byte)
                bitCount += 8
                while bitCount >= 6 {
                    bitCount -= 6
                    output[written] = alphabet[Int(bits >> bitCount & 63)]
                    written += 1
                }
            }
            if bitCount > 0 {
                output[written] = alphabet[Int(bits << (6 - bitCount) & 63)]
                written += 1
            }
            return written
        }
    }

    /// Decodes `text`, with or without its padding; returns `nil` unless it is the canonical spelling.
    ///
    /// It is strict on purpose: `+`, `/`, white space, wrong padding and stray bits in the last digit are rejected, so
    /// that two different texts never represent the same bytes.
    package static func decode(_ text: String) -> [UInt8]? {
        guard let digits = withoutPadding(Array(text.utf8)), digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for digit in digits {
            let value = values[Int(digit)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
        }
        guard bits & (1 << bitCount - 1) == 0 else { return nil }
        return bytes
    }

    /// Removes padding, which must be absent or fill the last group of four exactly.
    private static func withoutPadding(_ text: [UInt8]) -> ArraySlice<UInt8>? {
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding == 0 || (padding <= 2 && text.count % 4 == 0) else { return nil }
        return text.dropLast(padding)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The value of each byte as a digit; 255 for a byte that is not a digit.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()
}
