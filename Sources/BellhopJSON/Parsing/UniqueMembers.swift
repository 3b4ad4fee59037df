/// Members of an object while it is read, with an eye on repeated keys: by comparing while they are few, by hashing
/// (with the process's own seed, so that nobody can prepare collisions) once they are many.
struct UniqueMembers {
    private static let few = 16
    private(set) var members: [JSONObject.Member] = []
    private var seen: Set<ByteKey> = []

    init(expecting capacity: Int) {
        members.reserveCapacity(capacity)
    }

    /// False when the key is there already.
    mutating func append(_ key: String, _ value: JSONValue) -> Bool {
        if members.count < Self.few {
            for index in members.indices where members[index].key.hasSameBytes(as: key) { return false }
        } else {
            if seen.isEmpty { seen = Set(members.map { ByteKey(text: $0.key) }) }
            guard seen.insert(ByteKey(text: key)).inserted else { return false }
        }
        members.append(JSONObject.Member(key: key, value: value))
        return true
    }
}
