/// The members of an object during reading, with a check for repeated keys.
///
/// A few keys are compared directly and many are hashed. The hash uses the seed of the process, so that an attacker
/// cannot prepare collisions.
struct UniqueMembers {
    private static let few = 16
    private(set) var members: [JSONObject.Member] = []
    private var seen: Set<ByteKey> = []

    init(expecting capacity: Int) {
        members.reserveCapacity(capacity)
    }

    /// Appends a member; returns false if the key is already present.
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
