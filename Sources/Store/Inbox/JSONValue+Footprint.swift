import BellhopRules

extension JSONObject {
    /// About how many bytes the members take in memory: a number of one digit takes as much as a word of fifteen.
    var footprint: Int {
        members.reduce(0) { $0 + $1.key.footprint + $1.value.footprint }
    }
}

extension JSONValue {
    /// Twice its own place, since arrays grow by doubling, and what hangs on it.
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
    /// Short ones lie where they stand.
    fileprivate var footprint: Int { utf8.count > 15 ? 32 + utf8.count : 0 }
}
