import BellhopRules

extension JSONObject {
    /// The approximate size of the members in memory, in bytes.
    ///
    /// A number of one digit takes as much as a string of 15 bytes.
    var footprint: Int {
        members.reduce(0) { $0 + $1.key.footprint + $1.value.footprint }
    }
}

extension JSONValue {
    /// Twice the inline size, since arrays grow by doubling, and the size of the allocated contents.
    fileprivate var footprint: Int {
        let place = 2 * MemoryLayout<JSONValue>.stride
        return switch self {
        case .null, .bool: place
        case .number(let number): place + number.text.footprint
        case .string(let text): place + text.footprint
        case .array(let elements): elements.reduce(place) { $0 + $1.footprint }
        case .object(let object): place + object.footprint
        }
    }
}

extension String {
    /// Short strings are stored inline.
    fileprivate var footprint: Int { utf8.count > 15 ? 32 + utf8.count : 0 }
}
