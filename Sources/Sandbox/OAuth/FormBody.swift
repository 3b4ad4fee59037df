/// The fields of an `application/x-www-form-urlencoded` body, each name once.
struct FormBody {
    private var fields: [String: String] = [:]

    /// Nil for a field that comes twice, a broken escape, or bytes that are no UTF-8.
    init?(_ body: [UInt8]) {
        for item in body.split(separator: UInt8(ascii: "&")) {
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(parts[0]), let value = Self.decode(parts.count > 1 ? parts[1] : []) else {
                return nil
            }
            guard fields.updateValue(value, forKey: name) == nil else { return nil }
        }
    }

    subscript(name: String) -> String? { fields[name] }

    private static func decode(_ text: ArraySlice<UInt8>) -> String? {
        var decoded: [UInt8] = []
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "+"): decoded.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(digit), let low = bytes.next().flatMap(digit) else { return nil }
                decoded.append(high << 4 | low)
            default: decoded.append(byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8(truncatingIfNeeded: $0) }
    }
}
