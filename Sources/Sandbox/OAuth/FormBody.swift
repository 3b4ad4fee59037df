import ServiceRuntime

/// The fields of an `application/x-www-form-urlencoded` body, each name once.
struct FormBody {
    private var fields: [String: String] = [:]

    /// Returns `nil` for a repeated field, an invalid escape, or bytes that are not valid UTF-8.
    init?(_ body: [UInt8]) {
        for item in body.split(separator: UInt8(ascii: "&")) {
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(parts[0], plusIsSpace: true),
                let value = PercentEncoding.decode(parts.count > 1 ? parts[1] : [], plusIsSpace: true)
            else {
                return nil
            }
            guard fields.updateValue(value, forKey: name) == nil else { return nil }
        }
    }

    subscript(name: String) -> String? { fields[name] }
}
