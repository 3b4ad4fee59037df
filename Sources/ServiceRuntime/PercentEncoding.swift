/// The escapes of URLs and forms (RFC 3986 §2.1).
package enum PercentEncoding {
    /// Returns the decoded text; `nil` if an escape is invalid, the bytes are not UTF-8, or there is a NUL.
    ///
    /// In forms and queries, a plus sign means a space.
    package static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool = false) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.underestimatedCount)
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(hexDigit), let low = bytes.next().flatMap(hexDigit) else {
                    return nil
                }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(0x20)
            default: decoded.append(byte)
            }
        }
        return decoded.contains(0) ? nil : String(validating: decoded, as: UTF8.self)
    }

    /// Escapes everything except letters, digits and the characters `-._~`.
    package static func encode(_ text: String) -> String {
        text.utf8.reduce(into: "") { encoded, byte in
            let scalar = Unicode.Scalar(byte)
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
            if isPlain || "-._~".unicodeScalars.contains(scalar) {
                encoded.unicodeScalars.append(scalar)
            } else {
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8(truncatingIfNeeded: $0) }
    }
}
